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
	"gascity/internal/tmuxctl"
	"gascity/runtime"
)

// The options of a pane of ours. Those of metadata begin with optionMeta.
const (
	optionInstance = "gc_instance" // hash of the token
	optionSession  = "gc_session"  // name of the session
	optionLease    = "gc_lease"    // number of the present right to deliver
	optionEntered  = "gc_entered"  // the delivery whose Enter was sent
	optionPaste    = "gc_paste"    // bracketed paste, as it was heard last
	optionSigns    = "gc_signs"    // what the program told of itself, as it was heard last
	optionMeta     = "gc_meta_"
)

// state is what the server says of one of our panes.
type state struct {
	name, hash    string
	pane, window  string // and the session's id
	session       string
	dead          bool
	collected     bool         // with dead: the server knows how it ended
	exit          runtime.Exit // with dead
	pid           int
	attached      int
	human, output time.Time // by the second; human is zero if nobody was ever attached
	width, height int
	title         string
}

// stateFields is the format of a state. The title is last: it can hold anything.
const (
	stateFields = "#{@" + optionInstance + "} #{@" + optionSession + "} #{pane_id} #{window_id} #{session_id} #{pane_dead} #{pane_dead_status} " +
		"#{pane_dead_signal} #{pane_dead_time} #{pane_pid} #{session_attached} #{session_last_attached} #{session_activity} " +
		"#{window_activity} #{window_width} #{window_height} #{pane_title}"
	stateCount = 17
)

// errNotOurs reports a pane that does not exist, or is none of ours.
var errNotOurs = errors.New("no such pane")

func parseState(line string) (state, error) {
	f := strings.SplitN(line, " ", stateCount)
	if len(f) < stateCount {
		return state{}, fmt.Errorf("cannot understand tmux: %q", line)
	}
	if f[0] == "" {
		return state{}, errNotOurs
	}
	s := state{
		hash: f[0], name: f[1], pane: f[2], window: f[3], session: f[4], dead: f[5] == "1",
		pid: number(f[9]), attached: number(f[10]), output: moment(f[13]),
		width: number(f[14]), height: number(f[15]), title: f[16],
	}
	if f[11] != "" {
		s.human = moment(f[12]).Add(time.Second - 1) // it is told by the second: at the end of it
	}
	if s.dead {
		s.exit, s.collected = exitOf(f[6], f[7], f[8]), f[6] != "" || number(f[7]) > 0
	}
	return s, nil
}

// exitOf reads how a process ended. A tmux that does not tell the signal says nothing at
// all of a process that one ended.
func exitOf(status, signal, at string) runtime.Exit {
	e := runtime.Exit{Code: number(status), At: moment(at)}
	switch n := number(signal); {
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

// number is zero for what is none.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// moment is zero for what is none.
func moment(s string) time.Time {
	if n := number(s); n > 0 {
		return time.Unix(int64(n), 0)
	}
	return time.Time{}
}

// collectLimit is how long a server may take to know how a process ended whose terminal it
// has seen close.
const collectLimit = 10 * time.Second

// stateOf asks for the state of the incarnation's pane; errNotOurs if it has none.
func (p *Provider) stateOf(ctx context.Context, r *record) (state, error) {
	if r.Pane == "" {
		return state{}, errNotOurs
	}
	return p.settled(ctx, r.target(), r.hash(), r.Pane)
}

// settled is paneState of an incarnation. When its agent has ended it waits until the server
// knows how, or has collected the process and will never know: one before 3.3 does not tell
// signals.
func (p *Provider) settled(ctx context.Context, target, hash, pane string) (state, error) {
	began, gone := time.Now(), false
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		s, err := p.paneState(ctx, target)
		if err == nil && (s.hash != hash || s.pane != pane) {
			err = errNotOurs
		}
		if err != nil || !s.dead || s.collected {
			return s, err
		}
		p.roster.spoil()
		if gone || time.Since(began) > collectLimit {
			s.collected = true
			return s, nil
		}
		info, err := proc.Stat(s.pid)
		if gone = errors.Is(err, proc.ErrGone); gone {
			continue // it was collected between the two
		}
		if err == nil && info.State == proc.StateZombie {
			wakeReaper(info)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return state{}, context.Cause(ctx)
		}
	}
}

// wakeReaper has the server collect a process that has ended: tmux 3.3 sometimes misses the
// signal, and then leaves it until the next one.
func wakeReaper(ended proc.Info) {
	if parent, err := proc.Stat(ended.PPID); err == nil {
		_ = proc.Signal(parent.ID, syscall.SIGCHLD) // who is not told is asked again
	}
}

// paneState asks once for the state of a pane.
func (p *Provider) paneState(ctx context.Context, target string) (state, error) {
	reply, err := p.server.ask(ctx, tmuxctl.Cmd("display-message", "-p", "-t", target, stateFields))
	if absent(err) || errors.Is(err, tmuxctl.ErrNotFound) {
		return state{}, errNotOurs
	}
	if err != nil {
		return state{}, err
	}
	return parseState(string(reply.Output))
}

// list asks for all panes of ours in one query.
func (p *Provider) list(ctx context.Context) ([]state, error) {
	all, _, err := p.listAll(ctx)
	return all, err
}

// listAll also returns those that only the hub shows: somebody has killed their sessions.
func (p *Provider) listAll(ctx context.Context) (all, strays []state, err error) {
	reply, err := p.server.ask(ctx, tmuxctl.Cmd("list-panes", "-a", "-F", "#{session_name} "+stateFields))
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	var linked []state
	for _, line := range reply.Lines() {
		session, rest, _ := strings.Cut(line, " ")
		s, err := parseState(rest)
		switch {
		case errors.Is(err, errNotOurs): // of a person, or the hub's own
		case err != nil:
			return nil, nil, err
		case session == hub:
			linked = append(linked, s)
		case !seen[s.hash]: // a person may have linked it into another session
			seen[s.hash] = true
			all = append(all, s)
		}
	}
	for _, s := range linked {
		if !seen[s.hash] {
			strays = append(strays, s)
		}
	}
	return all, strays, nil
}

// fence is the format that holds for this incarnation's pane alone, and while its agent
// lives.
func (r *record) fence() string {
	return "#{&&:#{==:#{@" + optionInstance + "}," + r.hash() + "},#{==:#{pane_dead},0}}"
}

// alike is the format that holds for this incarnation's pane alone, whether or not its
// agent lives.
func (r *record) alike() string { return "#{==:#{@" + optionInstance + "}," + r.hash() + "}" }

// errFenced reports that a command was not carried out: the incarnation is over.
var errFenced = errors.New("the session has ended")

// fencedWord is what a fenced command prints if it was not carried out.
const fencedWord = "gc-fenced"

// act carries out the command inside the server if the condition holds for the pane;
// errFenced if not.
func (p *Provider) act(ctx context.Context, r *record, condition string, command tmuxctl.Command) ([]byte, error) {
	reply, err := p.server.ask(ctx, tmuxctl.If(r.target(), condition, command, tmuxctl.Cmd("display-message", "-p", fencedWord)))
	if err = fenced(reply.Output, err); err != nil {
		return nil, err
	}
	return reply.Output, nil
}

// fenced is errFenced if what a fenced command printed, or its error, says that it was not
// carried out.
func fenced(output []byte, err error) error {
	if absent(err) || errors.Is(err, tmuxctl.ErrNotFound) || err == nil && string(output) == fencedWord {
		return errFenced
	}
	return err
}
