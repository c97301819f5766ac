package proc

import "syscall"

// StopsOnlyOnHangup reports whether the process is likely to ignore SIGTERM and not SIGHUP, as
// an interactive shell does.
func (i Info) StopsOnlyOnHangup() bool { return i.IsShell() && i.PGID == i.SID }

// Catches reports whether the process handles the signal itself. This system does not report it, so
// it is true: callers know by other means what the process is.
func (i Info) Catches(syscall.Signal) bool { return true }
