package cityservice

import (
	"context"
	"slices"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Status implements controlapi.City. It adds the state of the engines to the controller's status.
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

// Explain implements controlapi.City. It adds the state of the engines to the controller's
// explanation.
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

// Interrupt implements controlapi.Agents. The prompt of the interrupted turn stays submitted and
// does not become consumed.
func (f Service) Interrupt(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	before, unknown := f.Snapshot(target)
	begins := unknown == nil && f.opts.Engines.Prompts.MayBegin(before.Session)
	if req.InTurn && unknown == nil && !begins && (req.Instance == "" || req.Instance == before.Instance) && isBetweenTurns(before) {
		return client.Done{Session: before.Session, Detail: string(before.Activity.State) + ": " + client.NoTurn}, nil
	}
	done, err := f.Controller.Interrupt(ctx, target, req)
	if err == nil && done.Changed && unknown == nil && (begins || before.Activity.State == runtime.ActivityBusy) {
		f.opts.Engines.Prompts.TurnAborted(ctx, before.Session, before.Instance)
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
func (f Service) Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error) {
	done, err := f.Controller.Keys(ctx, target, req)
	if err == nil {
		f.opts.Engines.Prompts.RecheckInput(ctx, done.Session)
	}
	return done, err
}

// ClearInput implements controlapi.Agents.
func (f Service) ClearInput(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	done, err := f.Controller.ClearInput(ctx, target, req)
	if err == nil {
		f.opts.Engines.Prompts.InputCleared(ctx, done.Session)
	}
	return done, err
}
