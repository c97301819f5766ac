//go:build !linux

package fakeagent

// setProcessName does nothing: other kernels take the name from the program's file.
func setProcessName(string) error { return nil }

// unreadInput is not known on other kernels.
func unreadInput() int { return 0 }
