package shim

import (
	"golang.org/x/sys/unix"

	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
)

// LineMode returns the current line mode from the kernel. It may change without any output.
func (s *childStreams) LineMode() screen.LineMode {
	raw, err := s.in.SyscallConn()
	if err != nil {
		return screen.LineUnknown
	}
	mode := screen.LineUnknown
	err = raw.Control(func(fd uintptr) {
		termios, err := unix.IoctlGetTermios(int(fd), getTermios)
		switch {
		case err != nil:
		case termios.Lflag&unix.ICANON != 0:
			mode = screen.LineCooked
		default:
			mode = screen.LineRaw
		}
	})
	if err != nil {
		return screen.LineUnknown
	}
	return mode
}

// HasOutput reports whether there is output of the program that was not read, or that the function of Follow
// still handles.
func (s *childStreams) HasOutput() bool {
	raw, err := s.out.SyscallConn()
	if err != nil {
		return false
	}
	has := false
	err = raw.Control(func(fd uintptr) {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a file descriptor
		n, err := unix.Poll(ready, 0)
		has = err == nil && n > 0 && ready[0].Revents&unix.POLLIN != 0
	})
	return err == nil && has || s.handling.Load() // asked last: output that is read between the two counts
}

// InputState returns whether the program has read its terminal input, and whether the kernel collects lines. The values come
// from the kernel and may change without any output. The zero value means that there is no terminal.
func (s *childStreams) InputState() inject.LineState {
	if s.path == "" {
		return inject.LineState{}
	}
	return inject.LineStateOf(s.path)
}
