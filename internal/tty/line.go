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

// LineOf asks the kernel who edits the input line of the terminal at path. It does not
// become anybody's controlling terminal by that.
func LineOf(path string) Line {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return Unknown
	}
	defer unix.Close(fd)
	settings, err := unix.IoctlGetTermios(fd, getSettings)
	switch {
	case err != nil:
		return Unknown
	case settings.Lflag&unix.ICANON != 0:
		return Cooked
	default:
		return Raw
	}
}
