package shim

import (
	"errors"

	"golang.org/x/sys/unix"

	"gascity/internal/proc"
)

// isSubreaper reports whether orphaned descendants become children of this process. It is true on Linux only.
const isSubreaper = true

func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// empty reports whether no process of the tree is left. A list of all processes cannot prove that: it is not taken at one
// moment, and a process whose parent exits meanwhile can be missed. That this process has no children proves it.
func (t *childTree) empty() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return errors.Is(err, unix.ECHILD)
		}
	}
}

// addDetached adds members that are not descendants of this process. On Linux there are none: this process is their subreaper.
func (t *childTree) addDetached(members []proc.Info) ([]proc.Info, error) { return members, nil }
