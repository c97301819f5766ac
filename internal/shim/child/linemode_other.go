//go:build !linux

package child

import "golang.org/x/sys/unix"

const getTermios = unix.TIOCGETA
