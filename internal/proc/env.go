package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// EnvMatch is a process found by its environment.
type EnvMatch struct {
	Info
	Value string // of the key that was asked for
}

// UnreadableError lists processes of the calling user whose environment may not be
// read (programs that forbid it, such as key agents). What was returned beside it is
// true but may be incomplete. It is an [fs.ErrPermission].
type UnreadableError struct {
	PIDs []int
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("cannot read the environment of processes %v", e.PIDs)
}

// Unwrap returns [fs.ErrPermission].
func (e *UnreadableError) Unwrap() error { return fs.ErrPermission }

// Environ returns the environment that a process was started with, as KEY=VALUE.
// Later changes that the process made for itself are not in it. It is empty for zombies
// and kernel threads. The errors are [ErrGone] and [fs.ErrPermission].
func Environ(pid int) ([]string, error) {
	env, err := environ(pid)
	if err != nil {
		return nil, &Error{Op: "read the environment of", PID: pid, Err: err}
	}
	return env, nil
}

// EnvValue returns one value of [Environ] and whether the key is there. As in libc, the
// first entry of a key counts.
func EnvValue(pid int, key string) (string, bool, error) {
	env, err := Environ(pid)
	if err != nil {
		return "", false, err
	}
	value, ok := lookup(env, key)
	return value, ok, nil
}

func lookup(env []string, key string) (string, bool) {
	for _, entry := range env {
		if rest, ok := strings.CutPrefix(entry, key); ok && strings.HasPrefix(rest, "=") {
			return rest[1:], true
		}
	}
	return "", false
}

// FindByEnv returns the processes of the calling (effective) user that were started with
// key=value in their environment; an empty value means any value. Ended processes and
// those of other users are left out. If processes of this user could not be read, the
// matches are returned beside an [*UnreadableError].
func FindByEnv(key, value string) ([]EnvMatch, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	search := envSearch{key: key, value: value}
	uid := os.Geteuid()
	var again []Info
	for _, info := range all {
		if info.UID == uid && !info.Ended() && !search.examine(info) {
			again = append(again, info)
		}
	}
	// A process in the middle of its exec has no environment for a moment.
	for _, info := range again {
		search.examine(info)
	}
	if search.err != nil {
		return nil, search.err
	}
	if len(search.unreadable) > 0 {
		return search.found, &UnreadableError{PIDs: search.unreadable}
	}
	return search.found, nil
}

// envSearch is one pass of [FindByEnv].
type envSearch struct {
	key, value string
	found      []EnvMatch
	unreadable []int
	err        error
}

// examine examines one process. It is false if the process showed nothing at all.
func (s *envSearch) examine(info Info) bool {
	env, err := environ(info.PID)
	switch {
	case errors.Is(err, ErrGone):
		return true
	case errors.Is(err, fs.ErrPermission):
		if info.PID == 1 { // init belongs to no tree of an agent and is often closed even to root
			return true
		}
		s.unreadable = append(s.unreadable, info.PID)
		return true
	case err != nil:
		s.err = errors.Join(s.err, &Error{Op: "read the environment of", PID: info.PID, Err: err})
		return true
	}
	value, ok := lookup(env, s.key)
	if ok && (s.value == "" || s.value == value) {
		// The pid may have changed hands between the list and the reading.
		if now, err := stat(info.PID); err == nil && now.ID == info.ID {
			s.found = append(s.found, EnvMatch{Info: now, Value: value})
		}
	}
	return len(env) > 0
}
