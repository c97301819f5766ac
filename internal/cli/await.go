package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/text"
)

// lookAgain is how long the status is trusted when no event says that it
// changed.
const lookAgain = time.Second

// verdict is what is thought of an agent that is waited for.
type verdict int

const (
	waiting verdict = iota
	settled
	failed
	skipped // not waited for
)

// judge decides about one agent of a status.
type judge func(client.Agent) verdict

// wanted waits until what should run runs.
func wanted(agent client.Agent) verdict {
	if agent.Desired != client.StateRunning {
		return skipped
	}
	switch agent.State {
	case client.StateRunning:
		return settled
	case client.StateFailed, client.StateQuarantined:
		return failed
	}
	return waiting
}

// awaitAgents waits until no agent is waiting and tells of each when it is
// known what became of it. It looks when an event says that something changed.
func (a *app) awaitAgents(parent context.Context, c *client.Client, of judge) error {
	ctx, cancel := context.WithCancel(parent)
	changed, stopped := desk.Changes(ctx, c)
	defer func() { cancel(); <-stopped }()
	w := &wait{app: a, judge: of, told: map[string]verdict{}, since: a.Now()}
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
		case <-time.After(lookAgain):
		}
	}
}

// wait is what has been told of the agents that are waited for.
type wait struct {
	*app
	judge judge
	told  map[string]verdict
	since time.Time
	open  []string // the agents that are still waited for, with their state
	said  time.Time
	last  string // what was said of open
	blind string // what was said of providers that do not answer
}

// proven is how long an agent must run before it counts that has failed a moment
// ago.
const proven = 2 * time.Second

// relapses reports whether the agent runs now but may fail again at once.
func (a *app) relapses(agent client.Agent) bool {
	return a.Now().Sub(agent.StartedAt) < proven
}

// remind is how long a wait is silent before it says what for.
const remind = 2 * time.Second

// look tells what is new and reports whether nothing is waited for any more.
func (w *wait) look(status client.Status) bool {
	w.open = nil
	if why := status.Controller.Degraded; why != w.blind {
		if w.blind = why; why != "" {
			w.Talk("%s  %s", w.PaintTalk(text.Red, "!!"), text.OneLine(why))
		}
	}
	for _, agent := range status.Agents {
		v := w.judge(agent)
		if v == settled && w.told[agent.Name] == failed && w.relapses(agent) {
			continue // it has failed before our eyes
		}
		if v == waiting {
			w.open = append(w.open, fmt.Sprintf("%s (%s)", agent.Name, agent.State))
		}
		if v == waiting || v == skipped || w.told[agent.Name] == v {
			continue
		}
		w.told[agent.Name] = v
		after := fmt.Sprintf("%.1fs", w.Now().Sub(w.since).Seconds())
		if v == settled {
			w.Talk("%s  %s after %s", w.PaintTalk(text.Green, "ok"), agent.Name, after)
		} else {
			w.Talk("%s  %s is %s: %s", w.PaintTalk(text.Red, "!!"), agent.Name, agent.State, text.Block(text.FirstOf(agent.Reason, agent.Exit, "no reason was given")))
		}
	}
	w.remind()
	return len(w.open) == 0
}

// remind says what is waited for, once it takes long and whenever that changes.
func (w *wait) remind() {
	now := w.Now()
	open := text.List(w.open)
	if open == "" || open == w.last || now.Sub(w.since) < remind || now.Sub(w.said) < remind {
		return
	}
	w.Talk("%s  waiting for %s", w.PaintTalk(text.Yellow, ".."), open)
	w.last, w.said = open, now
}

// sum says what became of all.
func (w *wait) sum() error {
	good, bad := 0, 0
	for _, v := range w.told {
		if v == settled {
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
	return desk.Said(desk.Failed)
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
func (w *wait) giveUp(parent context.Context, err error) error {
	if errors.Is(parent.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: still waiting for %s; the controller goes on, see: gc status", client.ErrTimeout, text.List(w.open))
	}
	return err
}
