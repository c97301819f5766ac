package fakeagent

import "os"

// setProcessName changes the kernel's name for this process (its first thread), as
// prctl(PR_SET_NAME) on that thread would. The kernel keeps 15 bytes.
func setProcessName(name string) error {
	return os.WriteFile("/proc/self/comm", []byte(name), 0)
}
