package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// EnvMatch is a process that was found by its environment.
type EnvMatch struct {
	Info
	Value string   // value of the key that was searched for
	env   []string // its variables, when it was found
}

// Get returns the value of a variable of the process; an empty string if it is not set. Of a search by an [AgentScanner] it knows
// the variables whose names begin with GC_.
func (m EnvMatch) Get(key string) string {
	value, _ := lookup(m.env, key)
	return value
}

// UnreadableError lists processes of the calling user whose environment cannot be read (programs that forbid it, such as key
// agents). A result that is returned with this error is correct but may be incomplete. The error matches [fs.ErrPermission].
type UnreadableError struct {
	PIDs []int
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("cannot read the environment of processes %v", e.PIDs)
}

// Unwrap returns [fs.ErrPermission].
func (e *UnreadableError) Unwrap() error { return fs.ErrPermission }

// Environ returns the environment with which a process was started, as KEY=VALUE. It does not include later changes by the
// process. It is empty for zombies and kernel threads. The errors are [ErrGone] and [fs.ErrPermission].
func Environ(pid int) ([]string, error) {
	env, err := environ(pid)
	if err != nil {
		return nil, &Error{Op: "read the environment of", PID: pid, Err: err}
	}
	return env, nil
}

// EnvValue returns the value of key in [Environ] and reports whether the key is set. If a key is repeated, the first entry is
// used, as libc does.
func EnvValue(pid int, key string) (string, bool, error) {
	env, err := Environ(pid)
	if err != nil {
		return "", false, err
	}
	value, ok := lookup(env, key)
	return value, ok, nil
}

// lookup returns the value of key in a list of KEY=VALUE and reports whether it is set.
func lookup(env []string, key string) (string, bool) {
	for _, entry := range env {
		if rest, ok := strings.CutPrefix(entry, key); ok && strings.HasPrefix(rest, "=") {
			return rest[1:], true
		}
	}
	return "", false
}

// Getenv returns the value of a variable in an environment, a list of KEY=VALUE; empty if it is not set. If a variable is
// repeated, the last entry is used, as os/exec does.
func Getenv(environ []string, key string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, key+"="); ok {
			return value
		}
	}
	return ""
}

// FindByEnv returns the processes of the calling (effective) user that were started with key=value in their environment. An
// empty value means any value. Zombies and processes of other users are skipped. If processes of this user cannot be read, it
// returns the matches and an [*UnreadableError].
func FindByEnv(key, value string) ([]EnvMatch, error) {
	scan, err := scanEnv(func(entry string) bool { return strings.HasPrefix(entry, key+"=") })
	if err != nil {
		return nil, err
	}
	return scan.find(key, value)
}

// envScan is the result of one scan of all processes of the calling user.
type envScan struct {
	began      time.Time
	found      []EnvMatch // those with a wanted variable, without a value
	unreadable []int
	err        error
}

// scanEnv reads the environments of all processes of the calling user. wanted selects the entries of an environment to store.
func scanEnv(wanted func(entry string) bool) (envScan, error) {
	scan := envScan{began: time.Now()}
	all, err := list()
	if err != nil {
		return scan, err
	}
	var again []Info
	for _, info := range all {
		if info.IsOwn() && !info.Ended() && !scan.examine(info, wanted) {
			again = append(again, info)
		}
	}
	// The environment of a process is empty for a moment during exec, so such processes are read again.
	for _, info := range again {
		scan.examine(info, wanted)
	}
	return scan, scan.err
}

// examine reads one process. It returns false if the process has an empty environment.
func (s *envScan) examine(info Info, wanted func(entry string) bool) bool {
	env, err := environ(info.PID)
	switch {
	case errors.Is(err, ErrGone):
		return true
	case errors.Is(err, fs.ErrPermission):
		if info.PID == 1 { // init is not a descendant of an agent, and often cannot be read even by root
			return true
		}
		s.unreadable = append(s.unreadable, info.PID)
		return true
	case err != nil:
		s.err = errors.Join(s.err, &Error{Op: "read the environment of", PID: info.PID, Err: err})
		return true
	}
	var kept []string
	for _, entry := range env {
		if wanted(entry) {
			kept = append(kept, strings.Clone(entry)) // the entries share the memory of the whole environment
		}
	}
	if len(kept) > 0 {
		// The pid may have been reused since the list was made.
		if now, err := stat(info.PID); err == nil && now.ID == info.ID {
			s.found = append(s.found, EnvMatch{Info: now, env: kept})
		}
	}
	return len(env) > 0
}

// find returns the processes of the scan that have the variable, as [FindByEnv] does.
func (s *envScan) find(key, value string) ([]EnvMatch, error) {
	var found []EnvMatch
	for _, m := range s.found {
		if v, ok := lookup(m.env, key); ok && (value == "" || v == value) {
			m.Value = v
			found = append(found, m)
		}
	}
	if len(s.unreadable) > 0 {
		return found, &UnreadableError{PIDs: slices.Clone(s.unreadable)}
	}
	return found, nil
}
