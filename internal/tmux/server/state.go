package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/tmux/control"
	"gascity/runtime"
)

// The options of a pane of ours.
const (
	OptionInstance = "gc_instance" // hash of the token
	OptionSession  = "gc_session"  // name of the session
	OptionLease    = "gc_lease"    // number of the present right to deliver
	OptionEntered  = "gc_entered"  // the delivery whose Enter was sent
	OptionPaste    = "gc_paste"    // bracketed paste, as it was reported last
	OptionSigns    = "gc_signs"    // what the program reported about itself last
)

// State is what the server says of one of our panes.
type State struct {
	// Name is the session's, Hash stands for the instance's token.
	Name, Hash string
	// Pane, Window and Session are ids.
	Pane, Window, Session string
	Dead                  bool
	// Collected, with Dead: the server knows how it ended, as Exit says.
	Collected bool
	Exit      runtime.Exit
	PID       int
	// Attached is how many people are.
	Attached int
	// Human and Output are when a person typed and the program printed last, by the second.
	// Human is zero if no client was ever attached.
	Human, Output time.Time
	Width, Height int
	Title         string
}

// StateFields is the format of a [State]. The title is last: it can hold anything. Times are
// asked for where there is a pane only: a tmux 3.2 that is asked for one of nothing crashes.
const (
	StateFields = "#{@" + OptionInstance + "} #{@" + OptionSession + "} #{pane_id} #{window_id} #{session_id} #{pane_dead} #{pane_dead_status} " +
		"#{pane_dead_signal} #{pane_dead_time} #{pane_pid} #{session_attached} " +
		"#{?pane_id,#{session_last_attached} #{session_activity} #{window_activity},  } #{window_width} #{window_height} #{pane_title}"
	stateCount = 17
)

// ErrNotOurs reports a pane that does not exist, or is none of ours.
var ErrNotOurs = errors.New("no such pane")

// Parse reads what the server says by StateFields. Of a pane that is none of ours it is
// [ErrNotOurs].
func Parse(line string) (State, error) {
	f := strings.SplitN(line, " ", stateCount)
	if len(f) < stateCount {
		return State{}, fmt.Errorf("cannot understand tmux: %q", line)
	}
	if f[0] == "" {
		return State{}, ErrNotOurs
	}
	s := State{
		Hash: f[0], Name: f[1], Pane: f[2], Window: f[3], Session: f[4], Dead: f[5] == "1",
		PID: Number(f[9]), Attached: Number(f[10]), Output: parseTime(f[13]),
		Width: Number(f[14]), Height: Number(f[15]), Title: f[16],
	}
	if f[11] != "" {
		s.Human = parseTime(f[12]).Add(time.Second - 1) // it is given by the second: at the end of it
	}
	if s.Dead {
		s.Exit, s.Collected = exitOf(f[6], f[7], f[8]), f[6] != "" || Number(f[7]) > 0
	}
	return s, nil
}

// exitOf reads how a process ended. A tmux that does not report the signal says nothing
// at all of a process that one ended.
func exitOf(status, signal, at string) runtime.Exit {
	e := runtime.Exit{Code: Number(status), At: parseTime(at)}
	switch n := Number(signal); {
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

// Number is zero for what is none.
func Number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// parseTime is zero for what is none.
func parseTime(s string) time.Time {
	if n := Number(s); n > 0 {
		return time.Unix(int64(n), 0)
	}
	return time.Time{}
}

// collectLimit is how long a server may take to know how a process ended whose terminal it
// has seen close.
const collectLimit = 10 * time.Second

// FinalState asks for the state of an instance's pane; [ErrNotOurs] if it has none. When its agent has
// ended it waits until the server knows how, or has collected the process and will never know: one
// before 3.3 does not report signals.
func (s *Server) FinalState(ctx context.Context, target, hash, pane string) (State, error) {
	began, gone := time.Now(), false
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		now, err := s.paneState(ctx, target)
		if err == nil && (now.Hash != hash || now.Pane != pane) {
			err = ErrNotOurs
		}
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
			continue // it was collected between the two
		}
		if err == nil && info.State == proc.StateZombie {
			WakeReaper(info)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return State{}, context.Cause(ctx)
		}
	}
}

// WakeReaper has the server collect a process that has ended: tmux 3.3 sometimes misses the
// signal, and then leaves it until the next one.
func WakeReaper(ended proc.Info) {
	if parent, err := proc.Stat(ended.PPID); err == nil {
		_ = proc.Signal(parent.ID, syscall.SIGCHLD) // one without the signal is asked again
	}
}

// paneState asks once for the state of a pane.
func (s *Server) paneState(ctx context.Context, target string) (State, error) {
	reply, err := s.Query(ctx, queryState(target))
	return parsePaneState(reply.Output, err)
}

// QueryState returns the state of an instance's pane for who asks for nothing else, see
// [control.Client.QueryOnce]; [ErrNotOurs] if it has none.
func (s *Server) QueryState(ctx context.Context, target, hash, pane string) (State, error) {
	now, err := parsePaneState(s.ctl.QueryOnce(ctx, queryState(target)))
	if err == nil && (now.Hash != hash || now.Pane != pane) {
		err = ErrNotOurs
	}
	return now, err
}

func queryState(target string) control.Command {
	return control.Cmd("display-message", "-p", "-t", target, StateFields)
}

// parsePaneState reads what the server says of one pane.
func parsePaneState(output []byte, err error) (State, error) {
	if Absent(err) || errors.Is(err, control.ErrNotFound) {
		return State{}, ErrNotOurs
	}
	if err != nil {
		return State{}, err
	}
	return Parse(string(output))
}

// List asks for all panes of ours in one query. The strays are those that only the hub shows:
// somebody has killed their sessions.
func (s *Server) List(ctx context.Context) (all, strays []State, err error) {
	reply, err := s.Query(ctx, control.Cmd("list-panes", "-a", "-F", "#{session_name} "+StateFields))
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	var linked []State
	for _, line := range reply.Lines() {
		session, rest, _ := strings.Cut(line, " ")
		pane, err := Parse(rest)
		switch {
		case errors.Is(err, ErrNotOurs): // of a person, or the hub's own
		case err != nil:
			return nil, nil, err
		case session == Hub:
			linked = append(linked, pane)
		case !seen[pane.Hash]: // a person may have linked it into another session
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
