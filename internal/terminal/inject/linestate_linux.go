package inject

import "golang.org/x/sys/unix"

const (
	getSettings = unix.TCGETS
	getWaiting  = unix.TIOCINQ
)
