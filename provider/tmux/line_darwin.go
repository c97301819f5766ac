package tmux

import (
	"golang.org/x/sys/unix"

	"gascity/internal/console"
)

// lineMode asks the kernel who edits the input line of a terminal.
func lineMode(tty string) console.LineMode {
	fd, err := unix.Open(tty, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return console.LineUnknown
	}
	defer unix.Close(fd)
	return modeOf(unix.IoctlGetTermios(fd, unix.TIOCGETA))
}

func modeOf(settings *unix.Termios, err error) console.LineMode {
	switch {
	case err != nil:
		return console.LineUnknown
	case settings.Lflag&unix.ICANON != 0:
		return console.LineCooked
	default:
		return console.LineRaw
	}
}
