package tmuxserver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/runtime"
)

// The options of a pane that gc has created.
const (
	OptionInstance = "gc_instance" // the hash of the instance token
	OptionSession  = "gc_session"  // the name of the session
	OptionLease    = "gc_lease"    // the number of the current delivery lease
	OptionEntered  = "gc_entered"  // the number of submit keys that were sent
	OptionPaste    = "gc_paste"    // the last reported bracketed paste mode: "1" or "0"
	OptionSigns    = "gc_signs"    // the last reports of the program about itself
	OptionTyped    = "gc_typed"    // when a person typed last by another way than a client, in milliseconds since 1970
	OptionOutside  = "gc_outside"  // the last input that gc sent outside a delivery: a random text and the last byte in hexadecimal
)

// State is the state of one pane that gc has created, as the server reports it.
type State struct {
	// Name is the name of the session, Hash the hash of the instance token.
	Name, Hash string
	// Pane, Window and Session are ids.
	Pane, Window, Session string
	// Dead: the pane's process has closed its terminal or exited.
	Dead bool
	// Collected, together with Dead, means that the server has collected the process and Exit is known.
	Collected bool
	Exit      runtime.Exit
	PID       int
	// Attached is the number of attached clients.
	Attached int
	// Human is the time of a person's last input, Output the time of the program's last output. Both have a
	// resolution of one second. Human is zero if no client was ever attached.
	Human, Output time.Time
	// Typed is the time of the last input of a person that did not come from a client; zero if there was none.
	Typed         time.Time
	Width, Height int
	Title         string
}

// LastInput returns the time of a person's last input.
func (s *State) LastInput() time.Time {
	if s.Typed.After(s.Human) {
		return s.Typed
	}
	return s.Human
}

// StateFields is the tmux format of a [State], for [ParseState]. The title is last because it can contain spaces. The
// times are queried only if the pane exists, because tmux 3.2 crashes otherwise.
const (
	StateFields = "#{@" + OptionInstance + "} #{@" + OptionSession + "} #{pane_id} #{window_id} #{session_id} #{pane_dead} #{pane_dead_status} " +
		"#{pane_dead_signal} #{pane_dead_time} #{pane_pid} #{session_attached} " +
		"#{?pane_id,#{session_last_attached} #{session_activity} #{window_activity},  } #{window_width} #{window_height} #{@" + OptionTyped + "} #{pane_title}"
	stateCount = 18
)

// ErrNotOurs reports that a pane does not exist or was not created by gc.
var ErrNotOurs = errors.New("no such pane")

// ParseState parses the server's output for StateFields. It returns [ErrNotOurs] for a pane that gc has not created.
func ParseState(line string) (State, error) {
	f := strings.SplitN(line, " ", stateCount)
	if len(f) < stateCount {
		return State{}, fmt.Errorf("cannot parse the reply of tmux: %q", line)
	}
	if f[0] == "" {
		return State{}, ErrNotOurs
	}
	s := State{
		Hash: f[0], Name: f[1], Pane: f[2], Window: f[3], Session: f[4], Dead: f[5] == "1",
		PID: ParseNumber(f[9]), Attached: ParseNumber(f[10]), Output: parseTime(f[13]),
		Width: ParseNumber(f[14]), Height: ParseNumber(f[15]), Title: f[17],
	}
	if f[16] != "" {
		s.Typed = time.UnixMilli(int64(ParseNumber(f[16])))
	}
	if f[11] != "" {
		s.Human = parseTime(f[12]).Add(time.Second - 1) // the resolution is one second: use the end of the second
	}
	if s.Dead {
		s.Exit, s.Collected = exitOf(f[6], f[7], f[8]), f[6] != "" || ParseNumber(f[7]) > 0
	}
	return s, nil
}

// exitOf returns the exit for the values that tmux reports. Older versions of tmux report neither status nor signal
// for a process that a signal has killed: then the signal is "unknown".
func exitOf(status, signal, at string) runtime.Exit {
	e := runtime.Exit{Code: ParseNumber(status), At: parseTime(at)}
	switch n := ParseNumber(signal); {
	case n > 0:
		e.Code, e.Signal = -1, syscall.Signal(n).String()
	case status == "":
		e.Code, e.Signal = -1, "unknown"
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	return e
}

// ParseNumber returns the integer in s; zero if s is not an integer.
func ParseNumber(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// parseTime returns the time for a number of Unix seconds; the zero time if s is not a positive number.
func parseTime(s string) time.Time {
	if n := ParseNumber(s); n > 0 {
		return time.Unix(int64(n), 0)
	}
	return time.Time{}
}

// collectLimit is the longest time that FinalState waits for the server to collect a process that has closed its
// terminal.
const collectLimit = 10 * time.Second

// FinalState returns the state of the pane that target addresses: a pane ID, or another target of tmux. If the pane is dead,
// FinalState waits until tmux knows the exit status of its process, or has collected the process without a status, as tmux before
// 3.3 does after a signal. It returns [ErrNotOurs] if there is no such pane, if its ID is not pane, or if it belongs to another
// instance than hash.
func (s *Server) FinalState(ctx context.Context, target, hash, pane string) (State, error) {
	began, gone := time.Now(), false
	for delay := retry.New(time.Millisecond, 50*time.Millisecond); ; {
		reply, err := s.Query(ctx, queryState(target))
		now, err := parsePaneState(reply.Output, err, hash, pane)
		if err != nil || !now.Dead || now.Collected {
			return now, err
		}
		s.InvalidateSessions()
		if gone || time.Since(began) > collectLimit {
			now.Collected = true
			return now, nil
		}
		info, err := proc.Stat(now.PID)
		if gone = errors.Is(err, proc.ErrGone); gone {
			continue // the process was collected between the two queries
		}
		if err == nil && info.State == proc.StateZombie {
			WakeReaper(info)
		}
		if !delay.Wait(ctx) {
			return State{}, context.Cause(ctx)
		}
	}
}

// WakeReaper sends SIGCHLD to the parent of a process that has exited, so the server collects the process. tmux 3.3
// sometimes misses the signal and then does not collect the process before the next one.
func WakeReaper(ended proc.Info) {
	if parent, err := proc.Stat(ended.PPID); err == nil {
		_ = proc.Signal(parent.ID, syscall.SIGCHLD) // callers repeat it if it fails
	}
}

// QueryState returns the state of an instance's pane. It needs no control client, see [Client.QueryOnce]. It
// returns [ErrNotOurs] if the pane does not exist or belongs to another instance.
func (s *Server) QueryState(ctx context.Context, target, hash, pane string) (State, error) {
	output, err := s.ctl.QueryOnce(ctx, queryState(target))
	return parsePaneState(output, err, hash, pane)
}

// queryState returns the command that queries the state of a pane.
func queryState(target string) Command {
	return Cmd("display-message", "-p", "-t", target, StateFields)
}

// parsePaneState returns the state for the result of the queryState command, if the pane belongs to the instance.
func parsePaneState(output []byte, err error, hash, pane string) (State, error) {
	if IsAbsent(err) || errors.Is(err, ErrNotFound) {
		return State{}, ErrNotOurs
	}
	if err != nil {
		return State{}, err
	}
	now, err := ParseState(string(output))
	if err == nil && (now.Hash != hash || now.Pane != pane) {
		err = ErrNotOurs
	}
	return now, err
}

// List returns the states of all panes that gc has created, with one query. strays are the panes that are only in the
// hub, because somebody has killed their sessions.
func (s *Server) List(ctx context.Context) (all, strays []State, err error) {
	return s.list(ctx, "#{session_name} "+StateFields)
}

// ListNamed is List for the panes of the named session. The server formats the state of these panes only, because each field
// of each pane costs it time.
func (s *Server) ListNamed(ctx context.Context, name string) (all, strays []State, err error) {
	return s.list(ctx, "#{?#{==:#{@"+OptionSession+"},"+name+"},#{session_name} "+StateFields+",}")
}

// list lists all panes in the format, and skips those for which the format is empty.
func (s *Server) list(ctx context.Context, format string) (all, strays []State, err error) {
	reply, err := s.Query(ctx, Cmd("list-panes", "-a", "-F", format))
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	var linked []State
	for _, line := range reply.Lines() {
		if line == "" {
			continue
		}
		session, rest, _ := strings.Cut(line, " ")
		pane, err := ParseState(rest)
		switch {
		case errors.Is(err, ErrNotOurs): // a pane of a person or of the hub
		case err != nil:
			return nil, nil, err
		case session == Hub:
			linked = append(linked, pane)
		case !seen[pane.Hash]: // the list has a pane twice if a person has linked it into another session
			seen[pane.Hash] = true
			all = append(all, pane)
		}
	}
	for _, pane := range linked {
		if !seen[pane.Hash] {
			strays = append(strays, pane)
		}
	}
	return all, strays, nil
}
