package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/text"
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
)

// Judge decides about one agent of a status.
type Judge func(client.Agent) Verdict

// Wanted waits until what should run runs.
func Wanted(agent client.Agent) Verdict {
	if agent.Desired != client.StateRunning {
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

// AwaitAgents waits until no agent is waited for and tells of each when it is
// known what became of it. It looks when an event says that something changed.
func (d *Desk) AwaitAgents(parent context.Context, c *client.Client, of Judge) error {
	ctx, cancel := context.WithCancel(parent)
	changed, stopped := Changes(ctx, c)
	defer func() { cancel(); <-stopped }()
	w := d.newVigil(of)
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

// Vigil is what has been told of agents that are waited for.
type Vigil struct {
	*Desk

	judge Judge
	told  map[string]Verdict
	since time.Time
	open  []string // the agents that are still waited for, with their state
	said  time.Time
	last  string // what was said of open
	blind string // what was said of providers that do not answer
}

func (d *Desk) newVigil(of Judge) *Vigil {
	return &Vigil{Desk: d, judge: of, told: map[string]Verdict{}, since: d.Now()}
}

// NewVigil begins to wait for something that is told by others: only
// [Vigil.Remind] is of use.
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

// look tells what is new and reports whether nothing is waited for any more.
func (w *Vigil) look(status client.Status) bool {
	w.open = nil
	if why := status.Controller.Degraded; why != w.blind {
		if w.blind = why; why != "" {
			w.Talk("%s  %s", w.PaintTalk(text.Red, "!!"), text.OneLine(why))
		}
	}
	for _, agent := range status.Agents {
		v := w.judge(agent)
		if v == Settled && w.told[agent.Name] == Failing && w.Relapses(agent) {
			continue // it has failed before our eyes
		}
		if v == Waiting {
			w.open = append(w.open, fmt.Sprintf("%s (%s)", agent.Name, agent.State))
		}
		if v == Waiting || v == Skipped || w.told[agent.Name] == v {
			continue
		}
		w.told[agent.Name] = v
		after := fmt.Sprintf("%.1fs", w.Now().Sub(w.since).Seconds())
		if v == Settled {
			w.Talk("%s  %s after %s", w.PaintTalk(text.Green, "ok"), agent.Name, after)
		} else {
			w.Talk("%s  %s is %s: %s", w.PaintTalk(text.Red, "!!"), agent.Name, agent.State, text.Block(text.FirstOf(agent.Reason, agent.Exit, "no reason was given")))
		}
	}
	w.Remind(w.open)
	return len(w.open) == 0
}

// Remind says what is waited for, once it takes long and whenever that changes.
func (w *Vigil) Remind(names []string) {
	now := w.Now()
	open := text.List(names)
	if open == "" || open == w.last || now.Sub(w.since) < RemindAfter || now.Sub(w.said) < RemindAfter {
		return
	}
	w.Talk("%s  waiting for %s", w.PaintTalk(text.Yellow, ".."), open)
	w.last, w.said = open, now
}

// sum says what became of all.
func (w *Vigil) sum() error {
	good, bad := 0, 0
	for _, v := range w.told {
		if v == Settled {
			good++
		} else {
			bad++
		}
	}
	if bad == 0 {
		w.Talk("%s", runs(good))
		return nil
	}
	w.Talk("%s, %d failed; look closer with: gc status", runs(good), bad)
	return Said(Failed)
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
		return fmt.Errorf("%w: still waiting for %s; the controller goes on, see: gc status", client.ErrTimeout, text.List(w.open))
	}
	return err
}
