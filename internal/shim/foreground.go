package shim

import "golang.org/x/sys/unix"

// Foreground returns the process group in the foreground of the terminal; 0 if that is unknown.
func (s *childStreams) Foreground() int {
	if !s.terminal {
		return 0
	}
	raw, err := s.in.SyscallConn()
	if err != nil {
		return 0
	}
	group := 0
	err = raw.Control(func(fd uintptr) {
		if g, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP); err == nil {
			group = g
		}
	})
	if err != nil {
		return 0
	}
	return group
}
