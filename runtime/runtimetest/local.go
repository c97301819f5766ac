package runtimetest

import (
	"os"
	"syscall"
)

// Local is the [Place] of agents on this machine. The zero value is ready to use.
type Local struct{}

// ReadFile returns the content of a file; see [os.ReadFile].
func (Local) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// Alive reports whether the process exists and, on systems with /proc, is not a zombie.
func (Local) Alive(pid int) bool {
	return pid > 0 && syscall.Kill(pid, 0) == nil && !isZombie(pid)
}

// Kill sends SIGKILL.
func (Local) Kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
