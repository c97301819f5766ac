package shim

import (
	"errors"
	"syscall"

	"gascity/internal/proc"
)

// interruptGroup sends SIGINT to the process group that root leads. It does nothing if root has exited.
func interruptGroup(root proc.ID) error {
	alive, err := proc.Alive(root)
	if err != nil || !alive {
		return err
	}
	if err := syscall.Kill(-root.PID, syscall.SIGINT); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
