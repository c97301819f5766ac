//go:build !linux

package shim

import "golang.org/x/sys/unix"

const getTermios = unix.TIOCGETA
