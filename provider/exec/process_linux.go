package exec

import "syscall"

// dieWithUs ends a child when this process is killed, also one that does not read its
// standard input.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
