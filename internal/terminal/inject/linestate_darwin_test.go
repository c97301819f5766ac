package inject

import "golang.org/x/sys/unix"

const setSettings = unix.TIOCSETA
