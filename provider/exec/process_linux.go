package exec

import "syscall"

// killWithParent makes the kernel send SIGTERM to a child when this process exits, so that a child
// stops that does not read its standard input.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
