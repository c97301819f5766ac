package tty

import "golang.org/x/sys/unix"

// Line is who edits the input line of a terminal.
type Line uint8

// The editors.
const (
	Unknown Line = iota
	Raw          // the program reads keys
	Cooked       // the kernel collects lines
)

// Input is what became of the input of a terminal.
type Input uint8

// What may have become of it.
const (
	InputUnknown Input = iota
	InputRead          // the program has read all of it
	InputWaiting       // the program has not read all of it
)

// LineOf asks the kernel who edits the input line of the terminal at path, and whether the
// program has read its input; of a line that is not finished that is not known. It does not
// become anybody's controlling terminal by that. Input that was written a moment ago may not
// be counted yet.
func LineOf(path string) (Line, Input) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return Unknown, InputUnknown
	}
	defer unix.Close(fd)
	settings, err := unix.IoctlGetTermios(fd, getSettings)
	if err != nil {
		return Unknown, InputUnknown
	}
	waiting, err := unix.IoctlGetInt(fd, getWaiting)
	cooked := settings.Lflag&unix.ICANON != 0
	line, input := Raw, InputRead
	if cooked {
		line, input = Cooked, InputUnknown
	}
	switch {
	case err != nil:
		input = InputUnknown
	case waiting > 0:
		input = InputWaiting
	}
	return line, input
}
