package tmux

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
	optionInstance = "gc_instance" // the hash of the instance token
	optionSession  = "gc_session"  // the name of the session
	optionLease    = "gc_lease"    // the number of the current delivery lease
	optionEntered  = "gc_entered"  // the number of submit keys that were sent
	optionPaste    = "gc_paste"    // the last reported bracketed paste mode: "1" or "0"
	optionSigns    = "gc_signs"    // the last reports of the program about itself
	optionTyped    = "gc_typed"    // when a person typed last by another way than a client, in milliseconds since 1970
	optionOutside  = "gc_outside"  // the last input that gc sent outside a delivery: a random text and the last byte in hexadecimal
)

// paneState is the state of one pane that gc has created, as the server reports it.
type paneState struct {
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
func (s *paneState) LastInput() time.Time {
	if s.Typed.After(s.Human) {
		return s.Typed
	}
	return s.Human
}

// stateFields is the tmux format of a [paneState], for [parseState]. The title is last because it can contain spaces. The
// times are queried only if the pane exists, because tmux 3.2 crashes otherwise.
const (
	stateFields = "#{@" + optionInstance + "} #{@" + optionSession + "} #{pane_id} #{window_id} #{session_id} #{pane_dead} #{pane_dead_status} " +
		"#{pane_dead_signal} #{pane_dead_time} #{pane_pid} #{session_attached} " +
		"#{?pane_id,#{session_last_attached} #{session_activity} #{window_activity},  } #{window_width} #{window_height} #{@" + optionTyped + "} #{pane_title}"
	stateCount = 18
)

// errNotOurs reports that a pane does not exist or was not created by gc.
var errNotOurs = errors.New("no such pane")

// parseState parses the server's output for stateFields. It returns [errNotOurs] for a pane that gc has not created.
func parseState(line string) (paneState, error) {
	f := strings.SplitN(line, " ", stateCount)
	if len(f) < stateCount {
		return paneState{}, fmt.Errorf("cannot parse the reply of tmux: %q", line)
	}
	if f[0] == "" {
		return paneState{}, errNotOurs
	}
	s := paneState{
		Hash: f[0], Name: f[1], Pane: f[2], Window: f[3], Session: f[4], Dead: f[5] == "1",
		PID: parseNumber(f[9]), Attached: parseNumber(f[10]), Output: parseTime(f[13]),
		Width: parseNumber(f[14]), Height: parseNumber(f[15]), Title: f[17],
	}
	if f[16] != "" {
		s.Typed = time.UnixMilli(int64(parseNumber(f[16])))
	}
	if f[11] != "" {
		s.Human = parseTime(f[12]).Add(time.Second - 1) // the resolution is one second: use the end of the second
	}
	if s.Dead {
		s.Exit, s.Collected = exitOf(f[6], f[7], f[8]), f[6] != "" || parseNumber(f[7]) > 0
	}
	return s, nil
}

// exitOf returns the exit for the values that tmux reports. Older versions of tmux report neither status nor signal
// for a process that a signal has killed: then the signal is "unknown".
func exitOf(status, signal, at string) runtime.Exit {
	e := runtime.Exit{Code: parseNumber(status), At: parseTime(at)}
	switch n := parseNumber(signal); {
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

// parseNumber returns the integer in s; zero if s is not an integer.
func parseNumber(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// parseTime returns the time for a number of Unix seconds; the zero time if s is not a positive number.
func parseTime(s string) time.Time {
	if n := parseNumber(s); n > 0 {
		return time.Unix(int64(n), 0)
	}
	return time.Time{}
}

// collectLimit is the longest time that FinalState waits for the server to collect a process that has closed its
// terminal.
const collectLimit = 10 * time.Second

// FinalState returns the state of the pane that target addresses: a pane ID, or another target of tmux. If the pane is dead,
// FinalState waits until tmux knows the exit status of its process, or has collected the process without a status, as tmux before
// 3.3 does after a signal. It returns [errNotOurs] if there is no such pane, if its ID is not pane, or if it belongs to another
// instance than hash.
func (s *tmuxServer) FinalState(ctx context.Context, target, hash, pane string) (paneState, error) {
	began, gone := time.Now(), false
	for delay := retry.New(time.Millisecond, 50*time.Millisecond); ; {
		reply, err := s.Query(ctx, queryState(target))
		now, err := ownState(reply.Output, err, hash, pane)
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
			wakeReaper(info)
		}
		if !delay.Wait(ctx) {
			return paneState{}, context.Cause(ctx)
		}
	}
}

// wakeReaper sends SIGCHLD to the parent of a process that has exited, so the server collects the process. tmux 3.3
// sometimes misses the signal and then does not collect the process before the next one.
func wakeReaper(ended proc.Info) {
	if parent, err := proc.Stat(ended.PPID); err == nil {
		_ = proc.Signal(parent.ID, syscall.SIGCHLD) // callers repeat it if it fails
	}
}

// QueryState returns the state of an instance's pane. It needs no control client, see [controlClient.QueryOnce]. It
// returns [errNotOurs] if the pane does not exist or belongs to another instance.
func (s *tmuxServer) QueryState(ctx context.Context, target, hash, pane string) (paneState, error) {
	output, err := s.client.QueryOnce(ctx, queryState(target))
	return ownState(output, err, hash, pane)
}

// queryState returns the command that queries the state of a pane.
func queryState(target string) tmuxCommand {
	return cmd("display-message", "-p", "-t", target, stateFields)
}

// ownState returns the state for the result of the queryState command, if the pane belongs to the instance.
func ownState(output []byte, err error, hash, pane string) (paneState, error) {
	if isAbsent(err) || errors.Is(err, errNotFound) {
		return paneState{}, errNotOurs
	}
	if err != nil {
		return paneState{}, err
	}
	now, err := parseState(string(output))
	if err == nil && (now.Hash != hash || now.Pane != pane) {
		err = errNotOurs
	}
	return now, err
}

// List returns the states of all panes that gc has created, with one query. strays are the panes that are only in the
// hub, because somebody has killed their sessions.
func (s *tmuxServer) List(ctx context.Context) (all, strays []paneState, err error) {
	return s.list(ctx, "#{session_name} "+stateFields)
}

// ListNamed is List for the panes of the named session. The server formats the state of these panes only, because each field
// of each pane costs it time.
func (s *tmuxServer) ListNamed(ctx context.Context, name string) (all, strays []paneState, err error) {
	return s.list(ctx, "#{?#{==:#{@"+optionSession+"},"+name+"},#{session_name} "+stateFields+",}")
}

// list lists all panes in the format, and skips those for which the format is empty.
func (s *tmuxServer) list(ctx context.Context, format string) (all, strays []paneState, err error) {
	reply, err := s.Query(ctx, cmd("list-panes", "-a", "-F", format))
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	var linked []paneState
	for _, line := range reply.Lines() {
		if line == "" {
			continue
		}
		session, rest, _ := strings.Cut(line, " ")
		pane, err := parseState(rest)
		switch {
		case errors.Is(err, errNotOurs): // a pane of a person or of the hub
		case err != nil:
			return nil, nil, err
		case session == hub:
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
