package proc

// MindsOnlyHangup reports whether the process is likely to ignore SIGTERM and not SIGHUP, as
// an interactive shell does.
func (i Info) MindsOnlyHangup() bool { return i.IsShell() && i.PGID == i.SID }
