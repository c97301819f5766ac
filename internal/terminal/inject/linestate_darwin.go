package inject

import "golang.org/x/sys/unix"

const (
	getSettings = unix.TIOCGETA
	getWaiting  = 0x4004667f // FIONREAD
)
