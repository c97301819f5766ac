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

// LookAgain is how long the status is trusted when no event says that it
// changed.
const LookAgain = time.Second

// Verdict is what is thought of an agent that is waited for.
type Verdict int

// The verdicts.
const (
	Waiting Verdict = iota
	Settled
	Failing
	Skipped // not waited for
	Resting // wanted to rest; reported with its reason
	Held    // waits for something that will not come soon: reported, not waited for
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
		return Settled
	case client.StateFailed, client.StateQuarantined:
		return Failing
	}
	return Waiting
}

// AwaitAgents waits until each agent has reached its wanted state or cannot
// reach it, and prints the result of each. It looks when an event says that
// something changed.
func (d *Desk) AwaitAgents(parent context.Context, c *client.Client, of Judge) error {
	ctx, cancel := context.WithCancel(parent)
	changed, stopped := Changes(ctx, c)
	defer func() { cancel(); <-stopped }()
	w := d.newVigil(of)
	w.until, _ = parent.Deadline()
	for {
		status, err := c.Status(ctx)
		if err != nil {
			return w.giveUp(parent, err)
		}
		if w.look(status) {
			return w.sum()
		}
		select {
		case <-ctx.Done():
			return w.giveUp(parent, ctx.Err())
		case <-changed:
		case <-time.After(LookAgain):
		}
	}
}

// Vigil records what has been printed about awaited agents.
type Vigil struct {
	*Desk

	judge Judge
	told  map[string]Verdict
	since time.Time
	open  []string // the agents that are still waited for, with their state
	said  time.Time
	last  string              // what was said of open
	blind string              // what was said of providers that do not answer
	until time.Time           // when the wait ends; zero: never
	rests map[string][]string // agents that rest, by the reason
	still stillness
}

// stillness is since when nothing moves that an agent could wait for.
type stillness struct {
	gist  string
	since time.Time
}

// calm is how long nothing must move before what waits is not waited for any
// longer: what has become possible begins well within it.
const calm = 3 * time.Second

func (d *Desk) newVigil(of Judge) *Vigil {
	return &Vigil{Desk: d, judge: of, told: map[string]Verdict{}, since: d.Now()}
}

// NewVigil returns a Vigil for callers that print the results themselves; only
// [Vigil.Remind] may be called.
func (d *Desk) NewVigil() *Vigil { return d.newVigil(nil) }

// Proven is how long an agent must run before it counts that has failed a moment
// ago.
const Proven = 2 * time.Second

// Relapses reports whether the agent runs now but may fail again at once.
func (d *Desk) Relapses(agent client.Agent) bool {
	return d.Now().Sub(agent.StartedAt) < Proven
}

// RemindAfter is how long a wait is silent before it says what for.
const RemindAfter = 2 * time.Second

// look prints what is new and reports whether nothing is waited for any more.
func (w *Vigil) look(status client.Status) bool {
	w.open, w.rests = nil, map[string][]string{}
	standing := w.standstill(status)
	if why := status.Controller.Degraded; why != w.blind {
		if w.blind = why; why != "" {
			w.Talk("%s %s", w.PaintTalk(textfmt.Red, "warning:"), textfmt.OneLine(why))
		}
	}
	for _, agent := range status.Agents {
		v := w.judge(agent)
		if v == Waiting && (standing && idle(agent) || w.far(agent)) {
			v = Held
		}
		if v == Resting {
			w.rests[agent.Reason] = append(w.rests[agent.Reason], agent.Name)
		}
		if v == Settled && w.told[agent.Name] == Failing && w.Relapses(agent) {
			continue // it has failed before our eyes
		}
		if v == Waiting {
			w.open = append(w.open, fmt.Sprintf("%s (%s)", agent.Name, agent.State))
		}
		if v == Waiting || v == Skipped || v == Resting || w.told[agent.Name] == v {
			continue
		}
		w.told[agent.Name] = v
		w.tell(agent, v)
	}
	w.Remind(w.open)
	return len(w.open) == 0
}

// tell prints the result of an agent.
func (w *Vigil) tell(agent client.Agent, v Verdict) {
	why := textfmt.Plainly(textfmt.Brief(textfmt.FirstOf(agent.Reason, agent.Exit, "no reason was given")))
	switch v {
	case Settled:
		w.Talk("%s  %s (%.1fs)", w.PaintTalk(textfmt.Green, "ok     "), agent.Name, w.Now().Sub(w.since).Seconds())
	case Held:
		again := ""
		if left := textfmt.In(w.Now(), agent.NextAt); left != "" {
			again = "; next try in " + left
		}
		w.Talk("%s  %s: %s%s", w.PaintTalk(textfmt.Yellow, "waiting"), agent.Name, why, again)
	default:
		state := textfmt.FirstOf(agent.State, client.StateFailed)
		w.Talk("%s  %s: %s", w.PaintTalk(textfmt.Red, fmt.Sprintf("%-7s", state)), agent.Name, why)
	}
}

// far reports whether nothing happens to an agent before the wait is over.
func (w *Vigil) far(agent client.Agent) bool {
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

// standstill reports whether for a while no agent has been on its way that
// another one could wait for. A failed agent is on no list: its failure is
// printed.
func (w *Vigil) standstill(status client.Status) bool {
	var gist strings.Builder
	moves := false
	for _, agent := range status.Agents {
		fmt.Fprintln(&gist, agent.Name, agent.Desired, agent.State, agent.Epoch, agent.Reason)
		waits := w.judge(agent) == Waiting
		moves = moves || underway(agent) || waits && !idle(agent) || waits && agent.NextAt.After(w.Now()) && !w.far(agent)
	}
	if moves || gist.String() != w.still.gist {
		w.still = stillness{gist.String(), w.Now()}
		return false
	}
	return w.Now().Sub(w.still.since) >= calm
}

// Remind says what is waited for, once it takes long and whenever that changes.
func (w *Vigil) Remind(names []string) {
	now := w.Now()
	open := textfmt.List(names)
	if open == "" || open == w.last || now.Sub(w.since) < RemindAfter || now.Sub(w.said) < RemindAfter {
		return
	}
	w.Talk("%s %s", w.PaintTalk(textfmt.Yellow, "waiting for"), open)
	w.last, w.said = open, now
}

// sum returns the combined result of all agents. What waits for something known
// has not failed.
func (w *Vigil) sum() error {
	for _, why := range slices.Sorted(maps.Keys(w.rests)) {
		w.Talk("%s  %s: %s", w.PaintTalk(textfmt.Faint, "stopped"), textfmt.List(w.rests[why]), textfmt.Plainly(textfmt.Brief(textfmt.FirstOf(why, "not wanted"))))
	}
	count := map[Verdict]int{}
	for _, v := range w.told {
		count[v]++
	}
	words := runs(count[Settled])
	if n := count[Failing]; n > 0 {
		words += fmt.Sprintf(", %d failed", n)
	}
	switch n := count[Held]; {
	case n == 1:
		words += ", 1 waits"
	case n > 1:
		words += fmt.Sprintf(", %d wait", n)
	}
	if count[Failing]+count[Held] > 0 {
		words += "; look closer with: gc status"
	}
	w.Talk("%s", words)
	if count[Failing] > 0 {
		return Said(Failed)
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

// giveUp says what was still waited for when ctx ended.
func (w *Vigil) giveUp(parent context.Context, err error) error {
	if errors.Is(parent.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: still waiting for %s; the controller continues, see: gc status", client.ErrTimeout, textfmt.List(w.open))
	}
	return err
}
