//go:build !linux

package exec

import "syscall"

// killWithParent does nothing on this platform. The child exits at the end of its standard input.
func killWithParent(*syscall.SysProcAttr) {}
