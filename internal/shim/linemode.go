package shim

import "golang.org/x/sys/unix"

// lineMode asks the kernel whether the program reads keys or lines. It may change
// without any output.
func (s *streams) lineMode() LineMode {
	raw, err := s.in.SyscallConn()
	if err != nil {
		return LineUnknown
	}
	mode := LineUnknown
	err = raw.Control(func(fd uintptr) {
		termios, err := unix.IoctlGetTermios(int(fd), getTermios)
		switch {
		case err != nil:
		case termios.Lflag&unix.ICANON != 0:
			mode = LineCooked
		default:
			mode = LineRaw
		}
	})
	if err != nil {
		return LineUnknown
	}
	return mode
}
