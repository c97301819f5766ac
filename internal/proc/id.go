package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ErrGone says that a process does not exist (any more), or that its pid now belongs
// to another process.
var ErrGone = errors.New("process is gone")

// Error is a failure to learn something about a process, or to signal it.
type Error struct {
	Op  string // what was tried, such as "stat" or "signal"
	PID int
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s process %d: %v", e.Op, e.PID, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ID is the identity of one process until the next boot.
type ID struct {
	PID int
	// Start is the kernel's start time: clock ticks since boot on Linux, microseconds
	// since 1970 on Darwin. Only equality and order within one boot have a meaning.
	Start uint64
}

// String returns "pid@start", which [ParseID] reads.
func (id ID) String() string { return strconv.Itoa(id.PID) + "@" + strconv.FormatUint(id.Start, 10) }

// ParseID reads what [ID.String] wrote. It refuses a pid below 1.
func ParseID(s string) (ID, error) {
	pidText, startText, ok := strings.Cut(s, "@")
	pid, pidErr := strconv.Atoi(pidText)
	start, startErr := strconv.ParseUint(startText, 10, 64)
	if !ok || pidErr != nil || startErr != nil || pid < 1 {
		return ID{}, fmt.Errorf("cannot parse process id %q: want pid@start", s)
	}
	return ID{PID: pid, Start: start}, nil
}

// State is what a process does. The zero value is [StateUnknown].
type State uint8

// The states. A process is StateZombie when it has ended and its parent has not yet
// collected it; it is then as dead as a process that is gone.
const (
	StateUnknown State = iota
	StateRunning
	StateSleeping // includes uninterruptible sleep
	StateStopped  // by a signal or a tracer
	StateZombie
	StateDead
)

func (s State) String() string {
	switch s {
	case StateRunning:
		return "running"
	case StateSleeping:
		return "sleeping"
	case StateStopped:
		return "stopped"
	case StateZombie:
		return "zombie"
	case StateDead:
		return "dead"
	default:
		return "unknown"
	}
}

// Info is one process at the moment of reading.
type Info struct {
	ID
	PPID  int
	PGID  int
	SID   int
	Comm  string // the name that the kernel keeps, at most 15 bytes on Linux and 16 on Darwin
	State State
	UID   int // effective user
}

// Ended reports whether the process has ended, collected or not.
func (i Info) Ended() bool { return i.State == StateZombie || i.State == StateDead }

// IsOwn reports whether the process belongs to the calling (effective) user.
func (i Info) IsOwn() bool { return i.UID == os.Geteuid() }

// Self returns the identity of the calling process.
func Self() (ID, error) {
	info, err := Stat(os.Getpid())
	return info.ID, err
}

// Stat returns what is known about a pid. The error is [ErrGone] if there is no such
// process; any other error means unknown. A zombie is not an error: see [Info.Ended].
func Stat(pid int) (Info, error) {
	if pid < 1 {
		return Info{}, &Error{Op: "stat", PID: pid, Err: errors.New("invalid pid")}
	}
	info, err := stat(pid)
	if err != nil {
		return Info{}, &Error{Op: "stat", PID: pid, Err: err}
	}
	return info, nil
}

// Alive reports whether exactly this process exists and has not ended. It is false for
// a process that is gone, is a zombie, or has another start time. A stopped process is
// alive. An error means unknown: the caller must not treat it as dead.
func Alive(id ID) (bool, error) {
	err := check(id)
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	return err == nil, err
}

// check returns nil if exactly this process lives, and ErrGone if it does not.
func check(id ID) error {
	info, err := Stat(id.PID)
	if err != nil {
		return err
	}
	if info.Start != id.Start || info.Ended() {
		return &Error{Op: "stat", PID: id.PID, Err: ErrGone}
	}
	return nil
}

// List returns all processes of the machine (of the pid namespace on Linux) in one pass,
// in no particular order. Processes that end during the pass may or may not be in it.
func List() ([]Info, error) { return list() }

// Children returns the pids of the direct children of a process, zombies included.
// It is the cheap question; a process that ends while it is asked may hide a sibling,
// so that a decision to destroy something belongs on [Tree].
// The error is [ErrGone] if there is no such process.
func Children(pid int) ([]int, error) {
	if _, err := Stat(pid); err != nil {
		return nil, err
	}
	pids, err := children(pid)
	if err != nil {
		return nil, &Error{Op: "list children of", PID: pid, Err: err}
	}
	return pids, nil
}

// childrenByScan returns the answer of [Children] from a full pass.
func childrenByScan(pid int) ([]int, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, info := range all {
		if info.PPID == pid {
			pids = append(pids, info.PID)
		}
	}
	return pids, nil
}

// Argv returns the arguments that a process shows, first the program. It is empty for
// zombies and kernel threads. A program that renames itself may leave empty strings at
// the end. The error is [ErrGone] if there is no such process.
func Argv(pid int) ([]string, error) {
	args, err := argv(pid)
	if err != nil {
		return nil, &Error{Op: "read the arguments of", PID: pid, Err: err}
	}
	return args, nil
}

// BootID returns a text that differs after each boot of the machine.
func BootID() (string, error) {
	id, err := bootID()
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return id, nil
}
