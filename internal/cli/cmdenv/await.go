package cmdenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/textfmt"
)

// PollInterval is how long the status is trusted when no event says that it
// changed.
const PollInterval = time.Second

// Verdict is what is thought of an agent that is waited for.
type Verdict int

// The verdicts.
const (
	Waiting Verdict = iota
	Reached
	Failing
	Skipped // not waited for
	Resting // wanted to rest; reported with its reason
	Delayed // waits for something that will not come soon: reported, not waited for
)

// Judge decides about one agent of a status.
type Judge func(client.Agent) Verdict

// Wanted waits until what should run runs.
func Wanted(agent client.Agent) Verdict {
	switch agent.Desired {
	case client.StateRunning:
	case client.StateStopped, client.StateSuspended:
		return Resting
	default:
		return Skipped
	}
	switch agent.State {
	case client.StateRunning:
		return Reached
	case client.StateFailed, client.StateQuarantined:
		return Failing
	}
	return Waiting
}

// AwaitAgents waits until each agent has reached its wanted state or cannot
// reach it, and prints the result of each. It looks when an event says that
// something changed.
func (d *Base) AwaitAgents(parent context.Context, c *client.Client, of Judge) error {
	ctx, cancel := context.WithCancel(parent)
	changed, stopped := Changes(ctx, c)
	defer func() { cancel(); <-stopped }()
	w := d.newWaiter(of)
	w.until, _ = parent.Deadline()
	for {
		status, err := c.Status(ctx)
		if err != nil {
			return w.timeoutError(parent, err)
		}
		if w.update(status) {
			return w.printSummary()
		}
		select {
		case <-ctx.Done():
			return w.timeoutError(parent, ctx.Err())
		case <-changed:
		case <-time.After(PollInterval):
		}
	}
}

// Waiter records what has been printed about awaited agents.
type Waiter struct {
	*Base

	judge        Judge
	reported     map[string]Verdict
	since        time.Time
	open         []string // the agents that are still waited for, with their state
	remindedAt   time.Time
	lastReminder string              // what was said of open
	degraded     string              // what was said of providers that do not answer
	until        time.Time           // when the wait ends; zero: never
	rests        map[string][]string // agents that rest, by the reason
	lastChange   statusChange
	results      []Awaited // of the last status
}

// results names the verdicts that end a wait, for programs.
var results = map[Verdict]string{Reached: "running", Failing: "failed", Resting: "stopped", Delayed: "waiting"}

// Awaited is the result of waiting for an agent, as JSON.
type Awaited struct {
	Agent  string `json:"agent"`
	Result string `json:"result"` // running, failed, stopped (not to run) or waiting (for something that takes long)
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// PrintAwaited prints the results of a wait as JSON, if that is wanted.
func (d *Base) PrintAwaited(list []Awaited) error {
	if !d.JSON {
		return nil
	}
	return d.PrintJSON(Rows("agents", list))
}

// statusChange is since when nothing moves that an agent could wait for.
type statusChange struct {
	summary string
	since   time.Time
}

// idleAfter is how long nothing must move before what waits is not waited for any
// longer: what has become possible begins well within it.
const idleAfter = 3 * time.Second

func (d *Base) newWaiter(of Judge) *Waiter {
	return &Waiter{Base: d, judge: of, reported: map[string]Verdict{}, since: d.Now()}
}

// NewReminder returns a Waiter for callers that print the results themselves; only
// [Waiter.Remind] may be called.
func (d *Base) NewReminder() *Waiter { return d.newWaiter(nil) }

// StableAfter is how long an agent must run before it counts that has failed a moment
// ago.
const StableAfter = 2 * time.Second

// MayFailAgain reports whether the agent runs now but may fail again at once.
func (d *Base) MayFailAgain(agent client.Agent) bool {
	return d.Now().Sub(agent.StartedAt) < StableAfter
}

// RemindAfter is how long a wait is silent before it says what for.
const RemindAfter = 2 * time.Second

// update prints what is new and reports whether nothing is waited for any more.
func (w *Waiter) update(status client.Status) bool {
	w.open, w.rests, w.results = nil, map[string][]string{}, nil
	standing := w.hasStopped(status)
	if why := status.Controller.Degraded; why != w.degraded {
		if w.degraded = why; why != "" {
			w.Messagef("%s %s", w.PaintMessage(textfmt.Red, "warning:"), textfmt.OneLine(why))
		}
	}
	for _, agent := range status.Agents {
		v := w.judge(agent)
		if v == Waiting && (standing && idle(agent) || w.isBeyondTimeout(agent)) {
			v = Delayed
		}
		if result, ok := results[v]; ok {
			w.results = append(w.results, Awaited{agent.Name, result, agent.State, textfmt.Brief(textfmt.FirstOf(agent.Reason, agent.Exit))})
		}
		if v == Resting {
			w.rests[agent.Reason] = append(w.rests[agent.Reason], agent.Name)
		}
		if v == Reached && w.reported[agent.Name] == Failing && w.MayFailAgain(agent) {
			continue // it has failed before our eyes
		}
		if v == Waiting {
			w.open = append(w.open, fmt.Sprintf("%s (%s)", agent.Name, agent.State))
		}
		if v == Waiting || v == Skipped || v == Resting || w.reported[agent.Name] == v {
			continue
		}
		w.reported[agent.Name] = v
		w.report(agent, v)
	}
	w.Remind(w.open)
	return len(w.open) == 0
}

// report prints the result of an agent.
func (w *Waiter) report(agent client.Agent, v Verdict) {
	why := textfmt.ReplaceInternalTerms(textfmt.Brief(textfmt.FirstOf(agent.Reason, agent.Exit, "no reason was given")))
	switch v {
	case Reached:
		w.Messagef("%s  %s (%.1fs)", w.PaintMessage(textfmt.Green, "ok     "), agent.Name, w.Now().Sub(w.since).Seconds())
	case Delayed:
		again := ""
		if left := textfmt.In(w.Now(), agent.NextAt); left != "" {
			again = "; next try in " + left
		}
		w.Messagef("%s  %s: %s%s", w.PaintMessage(textfmt.Yellow, "waiting"), agent.Name, why, again)
	default:
		state := textfmt.FirstOf(agent.State, client.StateFailed)
		w.Messagef("%s  %s: %s", w.PaintMessage(textfmt.Red, fmt.Sprintf("%-7s", state)), agent.Name, why)
	}
}

// isBeyondTimeout reports whether nothing happens to an agent before the wait is over.
func (w *Waiter) isBeyondTimeout(agent client.Agent) bool {
	return idle(agent) && !agent.NextAt.IsZero() && !w.until.IsZero() && agent.NextAt.After(w.until)
}

// idle reports whether the controller does nothing about an agent for now.
func idle(agent client.Agent) bool {
	switch agent.State {
	case client.StateStopped, client.StateAsleep, client.StateSuspended, client.StateLost:
		return true
	}
	return false
}

// underway reports whether the controller is doing something about an agent.
func underway(agent client.Agent) bool {
	switch agent.State {
	case client.StateCreating, client.StateStarting, client.StateDraining, client.StateStopping:
		return true
	}
	return false
}

// hasStopped reports whether for a while no agent has been on its way that
// another one could wait for. A failed agent is on no list: its failure is
// printed.
func (w *Waiter) hasStopped(status client.Status) bool {
	var gist strings.Builder
	moves := false
	for _, agent := range status.Agents {
		fmt.Fprintln(&gist, agent.Name, agent.Desired, agent.State, agent.Epoch, agent.Reason)
		waits := w.judge(agent) == Waiting
		moves = moves || underway(agent) || waits && !idle(agent) || waits && agent.NextAt.After(w.Now()) && !w.isBeyondTimeout(agent)
	}
	if moves || gist.String() != w.lastChange.summary {
		w.lastChange = statusChange{gist.String(), w.Now()}
		return false
	}
	return w.Now().Sub(w.lastChange.since) >= idleAfter
}

// Remind says what is waited for, once it takes long and whenever that changes.
func (w *Waiter) Remind(names []string) {
	now := w.Now()
	open := textfmt.List(names)
	if open == "" || open == w.lastReminder || now.Sub(w.since) < RemindAfter || now.Sub(w.remindedAt) < RemindAfter {
		return
	}
	w.Messagef("%s %s", w.PaintMessage(textfmt.Yellow, "waiting for"), open)
	w.lastReminder, w.remindedAt = open, now
}

// printSummary returns the combined result of all agents. What waits for something known
// has not failed.
func (w *Waiter) printSummary() error {
	if err := w.PrintAwaited(w.results); err != nil {
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(w.rests)) {
		w.Messagef("%s  %s: %s", w.PaintMessage(textfmt.Faint, "stopped"), textfmt.List(w.rests[why]), textfmt.ReplaceInternalTerms(textfmt.Brief(textfmt.FirstOf(why, "not wanted"))))
	}
	count := map[Verdict]int{}
	for _, v := range w.reported {
		count[v]++
	}
	words := runs(count[Reached])
	if n := count[Failing]; n > 0 {
		words += fmt.Sprintf(", %d failed", n)
	}
	switch n := count[Delayed]; {
	case n == 1:
		words += ", 1 waits"
	case n > 1:
		words += fmt.Sprintf(", %d wait", n)
	}
	if count[Failing]+count[Delayed] > 0 {
		words += "; look closer with: gc status"
	}
	w.Messagef("%s", words)
	if count[Failing] > 0 {
		return SilentExit(Failed)
	}
	return nil
}

func runs(n int) string {
	switch n {
	case 0:
		return "no agent runs"
	case 1:
		return "1 agent runs"
	}
	return fmt.Sprintf("%d agents run", n)
}

// timeoutError says what was still waited for when ctx ended.
func (w *Waiter) timeoutError(parent context.Context, err error) error {
	if errors.Is(parent.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: still waiting for %s; the controller continues, see: gc status", client.ErrTimeout, textfmt.List(w.open))
	}
	return err
}
