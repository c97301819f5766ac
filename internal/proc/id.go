package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ErrGone reports that a process does not exist any more, or that its pid belongs to another process.
var ErrGone = errors.New("process is gone")

// Error reports a failure to read information about a process or to send it a signal.
type Error struct {
	Op  string // the operation that failed, such as "stat" or "signal"
	PID int
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s process %d: %v", e.Op, e.PID, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ID is the identity of a process until the next boot.
type ID struct {
	PID int
	// Start is the kernel's start time: clock ticks since boot on Linux, microseconds since 1970 on Darwin. Compare it only
	// with start times of the same boot.
	Start uint64
}

// String returns "pid@start", which [ParseID] parses.
func (id ID) String() string { return strconv.Itoa(id.PID) + "@" + strconv.FormatUint(id.Start, 10) }

// ParseID parses the result of [ID.String]. A pid below 1 is an error.
func ParseID(s string) (ID, error) {
	pidText, startText, ok := strings.Cut(s, "@")
	pid, pidErr := strconv.Atoi(pidText)
	start, startErr := strconv.ParseUint(startText, 10, 64)
	if !ok || pidErr != nil || startErr != nil || pid < 1 {
		return ID{}, fmt.Errorf("cannot parse process id %q: want pid@start", s)
	}
	return ID{PID: pid, Start: start}, nil
}

// State is the state of a process. The zero value is [StateUnknown].
type State uint8

// The states. A process in StateZombie has exited, but its parent has not waited for it yet.
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

// Info describes a process at the moment when it was read.
type Info struct {
	ID
	PPID  int
	PGID  int
	SID   int
	Comm  string // the kernel's name of the process, at most 15 bytes on Linux and 16 on Darwin
	State State
	UID   int // effective user
	// Foreground is the process group in the foreground of the process's terminal; 0 if it has no terminal or this is not known.
	Foreground int
}

// Ended reports whether the process has exited, including zombies.
func (i Info) Ended() bool { return i.State == StateZombie || i.State == StateDead }

// IsOwn reports whether the process belongs to the calling (effective) user.
func (i Info) IsOwn() bool { return i.UID == os.Geteuid() }

// Self returns the identity of the calling process.
func Self() (ID, error) {
	info, err := Stat(os.Getpid())
	return info.ID, err
}

// Stat returns information about the process with the given pid. The error is [ErrGone] if there is no such process; after any
// other error its state is unknown. For a zombie Stat returns no error: see [Info.Ended].
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

// Alive reports whether exactly this process exists and has not exited. It returns false for a process that does not exist, is
// a zombie, or has another start time. A stopped process is alive. After an error the state is unknown: the caller must not
// treat the process as dead.
func Alive(id ID) (bool, error) {
	err := check(id)
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	return err == nil, err
}

// check returns nil if exactly this process is alive, and ErrGone if it is not.
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

// List returns all processes of the machine (on Linux: of the pid namespace) in no particular order. Processes that exit during
// the call may or may not be included.
func List() ([]Info, error) { return list() }

// Argv returns the arguments of a process, with the program first. It is empty for zombies and kernel threads. A program that
// changes its title may leave empty strings at the end. The error is [ErrGone] if there is no such process.
func Argv(pid int) ([]string, error) {
	args, err := argv(pid)
	if err != nil {
		return nil, &Error{Op: "read the arguments of", PID: pid, Err: err}
	}
	return args, nil
}

// BootID returns a text that is different after each boot of the machine.
func BootID() (string, error) {
	id, err := bootID()
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return id, nil
}
