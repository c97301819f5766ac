package fakeagent

import (
	"os"

	"golang.org/x/sys/unix"
)

// setProcessName changes the kernel's name of this process (of its first thread), as prctl(PR_SET_NAME) does. The kernel stores
// 15 bytes.
func setProcessName(name string) error {
	return os.WriteFile("/proc/self/comm", []byte(name), 0)
}

// unreadInput returns the number of bytes of terminal input that are not read yet.
func unreadInput() int {
	n, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}
