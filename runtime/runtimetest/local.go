package runtimetest

import (
	"os"
	"syscall"
)

// Local is the [Place] of agents that run on this machine. The zero value is
// ready.
type Local struct{}

// ReadFile is [os.ReadFile].
func (Local) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// Alive sends signal 0 and, where there is /proc, looks for a zombie.
func (Local) Alive(pid int) bool {
	return pid > 0 && syscall.Kill(pid, 0) == nil && !isZombie(pid)
}

// Kill sends SIGKILL.
func (Local) Kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }
