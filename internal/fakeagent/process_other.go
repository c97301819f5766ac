//go:build !linux

package fakeagent

// setProcessName does nothing: other kernels use the name of the program file.
func setProcessName(string) error { return nil }

// unreadInput returns 0: other kernels do not report it.
func unreadInput() int { return 0 }
