package fakeagent

import (
	"os"

	"golang.org/x/sys/unix"
)

// setProcessName changes the kernel's name for this process (its first thread), as
// prctl(PR_SET_NAME) on that thread would. The kernel keeps 15 bytes.
func setProcessName(name string) error {
	return os.WriteFile("/proc/self/comm", []byte(name), 0)
}

// unreadInput returns how many bytes the terminal has for this process.
func unreadInput() int {
	n, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
