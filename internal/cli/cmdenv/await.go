package cmdenv

import (
	"cmp"
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

// PollInterval is the time after which a waiting command reads the status again
// if no event arrived.
const PollInterval = time.Second

// Verdict is the result of a [Judge] for one agent.
type Verdict int

// The verdicts.
const (
	Waiting Verdict = iota // not in its wanted state yet
	Reached                // in its wanted state
	Failing                // has failed
	Skipped                // ignored: neither waited for nor reported
	Resting                // should not run: reported with the reason, not waited for
	Delayed                // cannot reach its wanted state soon: reported, not waited for
)

// Judge returns the verdict about one agent of a status.
type Judge func(client.Agent) Verdict

// Runs is the [Judge] that waits until each agent runs.
func Runs(agent client.Agent) Verdict {
	switch agent.State {
	case client.StateRunning:
		return Reached
	case client.StateFailed, client.StateQuarantined:
		return Failing
	}
	return Waiting
}

// Wanted is the [Judge] that waits until each agent that should run is running.
func Wanted(agent client.Agent) Verdict {
	switch agent.Desired {
	case client.StateRunning:
		return Runs(agent)
	case client.StateStopped, client.StateSuspended:
		return Resting
	}
	return Skipped
}

// AwaitAgents waits until each agent has reached its wanted state or cannot
// reach it, and prints the result of each. It reads the status after each event,
// and every [PollInterval]. If an agent has failed, the error is [SilentExit] with
// [Failed]; if the deadline of ctx has passed, it matches [client.ErrTimeout].
func (d *Base) AwaitAgents(ctx context.Context, c *client.Client, of Judge) error {
	changed, stop := Changes(ctx, c)
	defer stop()
	w := d.newWaiter(of)
	w.until, _ = ctx.Deadline()
	for {
		status, err := c.Status(ctx)
		if err != nil {
			return w.timeoutError(ctx, err)
		}
		if w.update(status) {
			return w.printSummary()
		}
		if !PauseFor(ctx, PollInterval, changed) {
			return w.timeoutError(ctx, ctx.Err())
		}
	}
}

// Waiter records what has been printed about awaited agents.
type Waiter struct {
	*Base

	judge        Judge
	reported     map[string]Verdict  // the last verdict printed for each agent
	since        time.Time           // when the wait began
	open         []string            // the agents that are still waited for, with their state
	remindedAt   time.Time           // when the last reminder was printed
	lastReminder string              // the agents named in the last reminder
	degraded     string              // the last printed reason why the controller is degraded
	until        time.Time           // when the wait ends; zero: never
	stopped      map[string][]string // agents that should not run, by the reason
	summary      string              // the compared parts of the last status
	progressAt   time.Time           // when the summary last changed, or an agent last made progress
	results      []Awaited           // of the last status
}

// results maps the verdicts that end a wait to their names in JSON.
var results = map[Verdict]string{Reached: "running", Failing: "failed", Resting: "stopped", Delayed: "waiting"}

// Awaited is the result of waiting for an agent, as JSON.
type Awaited struct {
	Agent  string `json:"agent"`
	Result string `json:"result"` // running, failed, stopped (not to run) or waiting (for something that takes long)
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// idleAfter is the time without any progress after which the waiting agents are reported
// as [Delayed]. The controller starts an agent that can run in much less time.
const idleAfter = 3 * time.Second

// newWaiter returns a Waiter that judges agents with the function of.
func (d *Base) newWaiter(of Judge) *Waiter {
	return &Waiter{Base: d, judge: of, reported: map[string]Verdict{}, since: d.Now()}
}

// NewReminder returns a Waiter for callers that print the results themselves; only
// [Waiter.Remind] may be called.
func (d *Base) NewReminder() *Waiter { return d.newWaiter(nil) }

// StableAfter is how long an agent that has just failed must run before it counts as
// running.
const StableAfter = 2 * time.Second

// MayFailAgain reports whether the agent runs now but may fail again at once.
func (d *Base) MayFailAgain(agent client.Agent) bool {
	return d.Now().Sub(agent.StartedAt) < StableAfter
}

// RemindAfter is the time before the first reminder, and between two reminders.
const RemindAfter = 2 * time.Second

// update prints the agents whose verdict changed and reports whether the wait is over.
func (w *Waiter) update(status client.Status) (done bool) {
	w.open, w.stopped, w.results = nil, map[string][]string{}, nil
	noProgress := w.noProgress(status)
	if why := status.Controller.Degraded; why != w.degraded {
		if w.degraded = why; why != "" {
			w.Messagef("%s %s", w.PaintMessage(textfmt.Red, "warning:"), textfmt.OneLine(why))
		}
	}
	for _, agent := range status.Agents {
		v := w.judge(agent)
		if v == Waiting && (noProgress && idle(agent) || w.isBeyondTimeout(agent)) {
			v = Delayed
		}
		if result, ok := results[v]; ok {
			w.results = append(w.results, Awaited{agent.Name, result, agent.State, textfmt.Brief(cmp.Or(agent.Reason, agent.Exit))})
		}
		if v == Resting {
			w.stopped[agent.Reason] = append(w.stopped[agent.Reason], agent.Name)
		}
		if v == Reached && w.reported[agent.Name] == Failing && w.MayFailAgain(agent) {
			continue // a failure was printed just now, and it may fail again
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

// report prints in one line the result of waiting for an agent: that it runs, has failed, or cannot run soon, with the
// reason.
func (w *Waiter) report(agent client.Agent, v Verdict) {
	why := textfmt.ReplaceInternalTerms(textfmt.Brief(cmp.Or(agent.Reason, agent.Exit, "no reason was given")))
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
		state := cmp.Or(agent.State, client.StateFailed)
		w.Messagef("%s  %s: %s", w.PaintMessage(textfmt.Red, fmt.Sprintf("%-7s", state)), agent.Name, why)
	}
}

// isBeyondTimeout reports whether the next try for an agent is later than the end of the wait.
func (w *Waiter) isBeyondTimeout(agent client.Agent) bool {
	return idle(agent) && !agent.NextAt.IsZero() && !w.until.IsZero() && agent.NextAt.After(w.until)
}

// idle reports whether an agent is in a state in which the controller is not acting on it.
func idle(agent client.Agent) bool {
	return slices.Contains([]string{client.StateStopped, client.StateAsleep, client.StateSuspended, client.StateLost}, agent.State)
}

// inTransition reports whether the controller is starting or stopping an agent.
func inTransition(agent client.Agent) bool {
	return slices.Contains([]string{client.StateCreating, client.StateStarting, client.StateDraining, client.StateStopping}, agent.State)
}

// noProgress reports whether for [idleAfter] the status has not changed, no agent was
// starting or stopping, and no agent was about to be tried again. Then the agents that
// still wait will not run soon.
func (w *Waiter) noProgress(status client.Status) bool {
	var summary strings.Builder
	progress := false
	for _, agent := range status.Agents {
		fmt.Fprintln(&summary, agent.Name, agent.Desired, agent.State, agent.Epoch, agent.Reason)
		waits := w.judge(agent) == Waiting
		progress = progress || inTransition(agent) || waits && !idle(agent) || waits && agent.NextAt.After(w.Now()) && !w.isBeyondTimeout(agent)
	}
	if progress || summary.String() != w.summary {
		w.summary, w.progressAt = summary.String(), w.Now()
		return false
	}
	return w.Now().Sub(w.progressAt) >= idleAfter
}

// Remind prints which agents are still waited for: first after [RemindAfter], then when the
// names have changed, at most once in RemindAfter. It prints nothing if names is empty.
func (w *Waiter) Remind(names []string) {
	now := w.Now()
	open := textfmt.List(names)
	if open == "" || open == w.lastReminder || now.Sub(w.since) < RemindAfter || now.Sub(w.remindedAt) < RemindAfter {
		return
	}
	w.Messagef("%s %s", w.PaintMessage(textfmt.Yellow, "waiting for"), open)
	w.lastReminder, w.remindedAt = open, now
}

// printSummary prints the awaited agents, the agents that stay stopped with the reason, and how many
// agents run, how many have failed and how many wait. The error is [SilentExit]
// with [Failed] if an agent has failed; an agent that waits is no failure.
func (w *Waiter) printSummary() error {
	if err := w.PrintIfJSON(Rows("agents", w.results)); err != nil {
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(w.stopped)) {
		w.Messagef("%s  %s: %s", w.PaintMessage(textfmt.Faint, "stopped"), textfmt.List(w.stopped[why]), textfmt.ReplaceInternalTerms(textfmt.Brief(cmp.Or(why, "should not run"))))
	}
	count := map[Verdict]int{}
	for _, v := range w.reported {
		count[v]++
	}
	words := runningText(count[Reached])
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
		words += "; see: gc status"
	}
	w.Messagef("%s", words)
	if count[Failing] > 0 {
		return SilentExit(Failed)
	}
	return nil
}

// runningText returns "n agents run" with the right plural.
func runningText(n int) string {
	switch n {
	case 0:
		return "no agent runs"
	case 1:
		return "1 agent runs"
	}
	return fmt.Sprintf("%d agents run", n)
}

// timeoutError returns err, or, if the deadline of ctx has passed, an error that names the
// agents that were still waited for.
func (w *Waiter) timeoutError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: still waiting for %s; the controller continues, see: gc status", client.ErrTimeout, textfmt.List(w.open))
	}
	return err
}
