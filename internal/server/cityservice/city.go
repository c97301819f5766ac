package cityservice

import (
	"context"
	"slices"

	"gascity/client"
	"gascity/internal/controller"
	"gascity/internal/domain/session"
	"gascity/internal/server/controlapi"
	"gascity/runtime"
)

// baseCity implements controlapi.City with the controller and the engines. Its results may contain
// secrets; the server masks them when it encodes them.
type baseCity struct {
	*controller.Controller
	controlapi.Prompts
	controlapi.Questions
	controlapi.Conditions
	engines *Engines
}

var _ controlapi.City = baseCity{}

// Status implements controlapi.City. It adds the state of the engines to the controller's status.
func (c baseCity) Status(ctx context.Context) (client.Status, error) {
	status, err := c.Controller.Status(ctx)
	if err != nil {
		return status, err
	}
	queued := c.engines.Prompts.Queued()
	open, err := c.Pending(ctx, "", client.OnlyOpen)
	if err != nil {
		return status, err
	}
	asked := map[string]int{}
	for _, q := range open {
		asked[q.Session]++
	}
	status.Agents = slices.Clone(status.Agents) // the snapshot belongs to all readers
	for i := range status.Agents {
		a := &status.Agents[i]
		a.Queued, a.Pending = queued[a.Session], asked[a.Session]
	}
	c.engines.Budgets.Status(&status)
	for i := range status.Agents {
		c.engines.addGuard(&status.Agents[i], c.Snapshot)
		status.Agents[i].Worker = c.engines.Workers.CachedHealth(status.Agents[i].Session, status.Agents[i].Instance)
		c.engines.addInputBlocked(&status.Agents[i])
	}
	return status, nil
}

// Explain implements controlapi.City. It adds the state of the engines to the controller's
// explanation.
func (c baseCity) Explain(ctx context.Context, target string) (client.Explanation, error) {
	e, err := c.Controller.Explain(ctx, target)
	if err != nil {
		return e, err
	}
	if e.Pending, err = c.Pending(ctx, e.Agent.Session, client.OnlyOpen); err != nil {
		return e, err
	}
	if e.Queue, err = c.Queue(ctx, e.Agent.Session, client.OnlyOpen); err != nil {
		return e, err
	}
	c.engines.Budgets.Explain(&e)
	c.engines.addGuard(&e.Agent, c.Snapshot)
	e.Agent.Worker = c.engines.Workers.CachedHealth(e.Agent.Session, e.Agent.Instance)
	c.engines.addInputBlocked(&e.Agent)
	e.Channel = c.engines.channel(e.Agent)
	e.Agent.Pending, e.Agent.Queued = len(e.Pending), len(e.Queue)
	return e, nil
}

// Interrupt implements controlapi.Agents. The prompt of the interrupted turn stays submitted and
// does not become consumed.
func (c baseCity) Interrupt(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	before, unknown := c.Snapshot(target)
	begins := unknown == nil && c.engines.Prompts.MayBegin(before.Session)
	if req.InTurn && unknown == nil && !begins && (req.Instance == "" || req.Instance == before.Instance) && isBetweenTurns(before) {
		return client.Done{Session: before.Session, Detail: string(before.Activity.State) + ": " + client.NoTurn}, nil
	}
	done, err := c.Controller.Interrupt(ctx, target, req)
	if err == nil && done.Changed && unknown == nil && (begins || before.Activity.State == runtime.ActivityBusy) {
		c.engines.Prompts.TurnAborted(ctx, before.Session, before.Instance)
	}
	return done, err
}

// isBetweenTurns reports whether the agent has no turn in progress. It uses only signals with a
// high confidence, not guesses from the screen.
func isBetweenTurns(v session.Snapshot) bool {
	sure := v.Activity.Confidence == session.ConfidenceCertain || v.Activity.Confidence == session.ConfidenceLikely
	return v.Running && sure && (v.Activity.State == runtime.ActivityIdle || v.Activity.State == runtime.ActivityReady)
}

// Keys implements controlapi.Agents. It makes the prompt engine check the input box again, because
// the keys may have emptied it.
func (c baseCity) Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error) {
	done, err := c.Controller.Keys(ctx, target, req)
	if err == nil {
		c.engines.Prompts.RecheckInput(done.Session)
	}
	return done, err
}

// ClearInput implements controlapi.Agents.
func (c baseCity) ClearInput(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	done, err := c.Controller.ClearInput(ctx, target, req)
	if err == nil {
		c.engines.Prompts.InputCleared(done.Session)
	}
	return done, err
}
