package proc

import "syscall"

// StopsOnlyOnHangup reports whether the process probably ignores SIGTERM but not SIGHUP, as an interactive shell does.
func (i Info) StopsOnlyOnHangup() bool { return i.IsShell() && i.PGID == i.SID }

// Catches reports whether the process handles the signal itself. This system does not report it, so the result is always true;
// callers must identify the process by other means.
func (i Info) Catches(syscall.Signal) bool { return true }
