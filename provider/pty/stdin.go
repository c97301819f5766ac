package pty

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// pollInput reads the standard input. Close interrupts a blocked read, and later input is not read.
type pollInput struct {
	wake, wakeEnd *os.File
}

// cancelableInput returns standard input as a reader whose Read returns when Close is called.
func cancelableInput() (io.ReadCloser, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &pollInput{r, w}, nil
}

func (p *pollInput) Read(b []byte) (int, error) {
	fds := []unix.PollFd{
		{Fd: int32(os.Stdin.Fd()), Events: unix.POLLIN},
		{Fd: int32(p.wake.Fd()), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if fds[1].Revents != 0 {
			return 0, io.EOF
		}
		return os.Stdin.Read(b)
	}
}

// Close interrupts a blocked read. It leaves the read end of the pipe open, because Read may still
// poll it; the garbage collector closes it.
func (p *pollInput) Close() error { return p.wakeEnd.Close() }
