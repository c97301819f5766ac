package cmdenv

import "golang.org/x/sys/unix"

// setSettings also drops the input that was not read.
const (
	getSettings = unix.TCGETS
	setSettings = unix.TCSETSF
)
