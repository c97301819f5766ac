package tty

import "golang.org/x/sys/unix"

// Line is who edits the input box of a terminal.
type Line uint8

// The editors.
const (
	Unknown Line = iota
	Raw          // the program reads keys
	Cooked       // the kernel collects lines
)

// Input is the state of the input of a terminal.
type Input uint8

// What may have become of it.
const (
	InputUnknown Input = iota
	InputRead          // the program has read all of it
	InputWaiting       // the program has not read all of it
)

// State is what the kernel says of a terminal's input.
type State struct {
	Line  Line
	Input Input
	// Lines: the kernel collects lines, and a carriage return ends one. Input is InputWaiting
	// for as long as the program has not read every line that is finished.
	Lines bool
	// Silent is Lines where the kernel shows nothing of a line, and [KillLine] removes one that is
	// not finished.
	Silent bool
}

// KillLine is the key that removes the line that the kernel collects.
const KillLine = 0x15

// StateOf asks the kernel who edits the input box of the terminal at path, and whether the
// program has read its input; of a line that is not finished that is not known. It does not
// become anybody's controlling terminal by that. Input that was written a moment ago may not
// be counted yet.
func StateOf(path string) State {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return State{}
	}
	defer unix.Close(fd)
	settings, err := unix.IoctlGetTermios(fd, getSettings)
	if err != nil {
		return State{}
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
	lines := cooked && err == nil && settings.Iflag&unix.ICRNL != 0 && settings.Iflag&unix.IGNCR == 0
	silent := lines && settings.Lflag&unix.ECHO == 0 && settings.Cc[unix.VKILL] == KillLine
	return State{Line: line, Input: input, Lines: lines, Silent: silent}
}
