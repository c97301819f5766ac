package tty

import "golang.org/x/sys/unix"

// Resize sets the size of the terminal at path. The kernel notifies the terminal's programs. Resize opens the terminal
// without making it a controlling terminal.
func Resize(path string, cols, rows uint16) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
}
