package tty

import "golang.org/x/sys/unix"

// Resize gives the terminal at path another size; its programs are notified. It does not
// become anybody's controlling terminal by that.
func Resize(path string, cols, rows uint16) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
}
