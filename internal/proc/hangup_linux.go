package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// StopsOnlyOnHangup reports whether the process ignores SIGTERM but not SIGHUP, as an interactive shell does.
func (i Info) StopsOnlyOnHangup() bool {
	ignored, ok := signalMask(i.PID, "SigIgn")
	return ok && ignored.contains(syscall.SIGTERM) && !ignored.contains(syscall.SIGHUP)
}

// Catches reports whether the process handles the signal itself, so that the signal does not kill it.
func (i Info) Catches(sig syscall.Signal) bool {
	caught, ok := signalMask(i.PID, "SigCgt")
	return ok && caught.contains(sig)
}

// signals is a set of signals, encoded as in /proc/pid/status.
type signals uint64

func (s signals) contains(sig syscall.Signal) bool { return s>>(sig-1)&1 == 1 }

// signalMask reads a set of signals from the status of a process. ok is false if it cannot be read.
func signalMask(pid int, field string) (mask signals, ok bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	_, rest, _ := bytes.Cut(status, []byte("\n"+field+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
	return signals(n), err == nil
}
