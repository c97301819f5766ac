package exec

import "syscall"

// killWithParent ends a child when this process is killed, also one that does not read its
// standard input.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
