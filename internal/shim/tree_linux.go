package shim

import (
	"golang.org/x/sys/unix"

	"gascity/internal/proc"
)

// becomeSubreaper makes orphaned descendants our children.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// strays adds members that are no descendants of ours. There are none: we are
// their subreaper.
func (t *tree) strays(members []proc.Info) ([]proc.Info, error) { return members, nil }
