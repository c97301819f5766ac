package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// EnvMatch is a process that was found by its environment.
type EnvMatch struct {
	Info
	Value string // value of the key that was searched for
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

// FindByEnv returns the processes of the calling (effective) user that were started with key=value in their environment. An
// empty value means any value. Zombies and processes of other users are skipped. If processes of this user cannot be read, it
// returns the matches and an [*UnreadableError].
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
	// The environment of a process is empty for a moment during exec, so such processes are read again.
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

// envSearch is one search of [FindByEnv].
type envSearch struct {
	key, value string
	found      []EnvMatch
	unreadable []int
	err        error
}

// examine checks one process. It returns false if the process has an empty environment.
func (s *envSearch) examine(info Info) bool {
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
	value, ok := lookup(env, s.key)
	if ok && (s.value == "" || s.value == value) {
		// The pid may have been reused since the list was made.
		if now, err := stat(info.PID); err == nil && now.ID == info.ID {
			s.found = append(s.found, EnvMatch{Info: now, Value: value})
		}
	}
	return len(env) > 0
}
