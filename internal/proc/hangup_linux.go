package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// MindsOnlyHangup reports whether the process ignores SIGTERM and not SIGHUP, as an
// interactive shell does.
func (i Info) MindsOnlyHangup() bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(i.PID) + "/status")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(status, []byte("\nSigIgn:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	ignored, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	ignores := func(sig syscall.Signal) bool { return ignored>>(sig-1)&1 == 1 }
	return err == nil && ignores(syscall.SIGTERM) && !ignores(syscall.SIGHUP)
}
