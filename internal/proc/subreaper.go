package proc

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// subreaperKey is the environment variable of a program that [ExecSubreaper] has started. Its value is the pid of the process,
// so the variable has no meaning in the environment of a child.
const subreaperKey = "GC_SUBREAPER"

// ExecSubreaper replaces the program of the calling process by argv, with the environment env. argv[0] is a path. Before, it
// makes the process the parent of its orphaned descendants, if the system supports that. It returns only if argv cannot be run.
func ExecSubreaper(argv, env []string) error {
	own := slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, subreaperKey+"=") })
	if becomeSubreaper() == nil {
		own = append(own, subreaperKey+"="+strconv.Itoa(syscall.Getpid()))
	}
	return syscall.Exec(argv[0], argv, own)
}

// IsSubreaper reports whether the process runs a program that [ExecSubreaper] has started: it is the parent of all descendants
// whose own parents have exited. It returns false if that is unknown.
func IsSubreaper(id ID) bool {
	value, _, err := EnvValue(id.PID, subreaperKey)
	return err == nil && value == strconv.Itoa(id.PID) && check(id) == nil
}
