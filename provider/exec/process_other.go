//go:build !linux

package exec

import "syscall"

// killWithParent has no way here: the child exits at the end of its standard input.
func killWithParent(*syscall.SysProcAttr) {}
