package cityservice

import (
	"context"
	"slices"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Status returns the controller's status with what the engines add: queued prompts, open questions,
// budgets and guards. It implements controlapi.City.
func (f Service) Status(ctx context.Context) (client.Status, error) {
	status, err := f.Controller.Status(ctx)
	if err != nil {
		return status, err
	}
	queued := f.opts.Engines.Prompts.Queued()
	open, err := f.opts.Engines.Questions.Pending(ctx, "", client.OnlyOpen)
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
	f.opts.Engines.Budgets.Status(&status)
	for i := range status.Agents {
		f.opts.Engines.addGuard(&status.Agents[i], f.Snapshot)
		status.Agents[i].Worker = f.opts.Engines.Workers.CachedHealth(status.Agents[i].Session, status.Agents[i].Instance)
		f.opts.Engines.addInputBlocked(&status.Agents[i])
	}
	return status, nil
}

// Explain returns the controller's explanation of an agent with what the engines add, such as its
// queue and its open questions. It implements controlapi.City.
func (f Service) Explain(ctx context.Context, target string) (client.Explanation, error) {
	e, err := f.Controller.Explain(ctx, target)
	if err != nil {
		return e, err
	}
	if e.Pending, err = f.Pending(ctx, e.Agent.Session, client.OnlyOpen); err != nil {
		return e, err
	}
	if e.Queue, err = f.Queue(ctx, e.Agent.Session, client.OnlyOpen); err != nil {
		return e, err
	}
	f.opts.Engines.Budgets.Explain(&e)
	f.opts.Engines.addGuard(&e.Agent, f.Snapshot)
	e.Agent.Worker = f.opts.Engines.Workers.CachedHealth(e.Agent.Session, e.Agent.Instance)
	f.opts.Engines.addInputBlocked(&e.Agent)
	e.Channel = f.opts.Engines.channel(e.Agent)
	e.Agent.Pending, e.Agent.Queued = len(e.Pending), len(e.Queue)
	return e, nil
}

// Interrupt interrupts the agent's turn. The receipt of the prompt in that turn stays submitted and
// does not become consumed. With req.InTurn it does nothing if the agent is certainly not in a
// turn. It implements controlapi.Agents.
func (f Service) Interrupt(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	before, snapshotErr := f.Snapshot(target)
	known := snapshotErr == nil
	turnMayBegin := known && f.opts.Engines.Prompts.MayBegin(before.Session)
	if req.InTurn && known && !turnMayBegin && (req.Instance == "" || req.Instance == before.Instance) && isBetweenTurns(before) {
		return client.Done{Session: before.Session, Detail: string(before.Activity.State) + ": " + client.NoTurn}, nil
	}
	done, err := f.Controller.Interrupt(ctx, target, req)
	if err == nil && done.Changed && known && (turnMayBegin || before.Activity.State == runtime.ActivityBusy) {
		f.opts.Engines.Prompts.TurnAborted(ctx, before.Session, before.Instance)
	}
	return done, err
}

// isBetweenTurns reports whether the agent is certainly not in a turn. A guess from the screen is
// not enough.
func isBetweenTurns(v session.Snapshot) bool {
	sure := v.Activity.Confidence == session.ConfidenceCertain || v.Activity.Confidence == session.ConfidenceLikely
	return v.Running && sure && (v.Activity.State == runtime.ActivityIdle || v.Activity.State == runtime.ActivityReady)
}

// Keys sends key events to the agent's terminal. The prompt engine then checks the input box again,
// because the keys may have emptied it. It implements controlapi.Agents.
func (f Service) Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error) {
	done, err := f.Controller.Keys(ctx, target, req)
	if err == nil {
		f.opts.Engines.Prompts.RecheckInput(ctx, done.Session)
	}
	return done, err
}

// ClearInput empties the agent's input box, so that waiting prompts can be typed. It implements
// controlapi.Agents.
func (f Service) ClearInput(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	done, err := f.Controller.ClearInput(ctx, target, req)
	if err == nil {
		f.opts.Engines.Prompts.InputCleared(ctx, done.Session)
	}
	return done, err
}
