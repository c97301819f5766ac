package app

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"gascity/client"
	"gascity/internal/controller"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/server/controlapi"
	"gascity/internal/service/budgets"
	"gascity/internal/service/credentials"
	"gascity/internal/service/prompts"
	"gascity/internal/service/questions"
	"gascity/internal/service/waits"
	"gascity/internal/service/workers"
	"gascity/runtime"
)

// engines are those who deal with sessions beside the controller. An engine
// looks at a session whenever the controller says that it has changed.
type engines struct {
	prompts   *prompts.Engine
	questions *questions.Service
	waits     *waits.Service
	workers   *workers.Engine
	spending  *budgets.Engine
	broker    *credentials.Broker
	events    *event.Limited
	desired   func(agent string) plan.Session // see controllerProcess.desired
}

// sessionChanged notifies every engine that a session has changed. It never blocks.
func (e *engines) sessionChanged(session string) {
	e.prompts.SessionChanged(session)
	e.questions.SessionChanged(session)
	e.waits.SessionChanged(session)
	e.workers.SessionChanged(session)
	e.spending.SessionChanged(session)
	e.broker.SessionChanged(session)
}

// run lets the engines work until ctx ends or one of them fails.
func (e *engines) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.prompts.Run(ctx) })
	group.Go(func() error { return e.questions.Run(ctx) })
	group.Go(func() error { return e.waits.Run(ctx) })
	group.Go(func() error { return e.workers.Run(ctx) })
	group.Go(func() error { return e.spending.Run(ctx) })
	group.Go(func() error { return e.broker.Run(ctx) })
	group.Go(func() error { return e.events.Run(ctx) })
	return group.Wait()
}

// baseCity is what the control API serves: the controller and the engines. Its answers may hold
// secrets; the server masks them when it encodes them.
type baseCity struct {
	*controller.Controller
	controlapi.Prompts
	controlapi.Questions
	controlapi.Conditions
	engines *engines
}

var _ controlapi.City = baseCity{}

func compose(c *controller.Controller, e *engines) baseCity {
	return baseCity{Controller: c, Prompts: e.prompts, Questions: e.questions, Conditions: e.waits, engines: e}
}

// Status adds to the controller's snapshot what waits at the engines.
func (c baseCity) Status(ctx context.Context) (client.Status, error) {
	status, err := c.Controller.Status(ctx)
	if err != nil {
		return status, err
	}
	queued := c.engines.prompts.Queued()
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
	c.engines.spending.Status(&status)
	for i := range status.Agents {
		c.engines.guarded(&status.Agents[i], c.Snapshot)
		status.Agents[i].Worker = c.engines.workers.CachedHealth(status.Agents[i].Session, status.Agents[i].Instance)
		c.engines.inputBlocked(&status.Agents[i])
	}
	return status, nil
}

// Explain adds to the controller's explanation what waits at the engines.
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
	c.engines.spending.Explain(&e)
	c.engines.guarded(&e.Agent, c.Snapshot)
	e.Agent.Worker = c.engines.workers.CachedHealth(e.Agent.Session, e.Agent.Instance)
	c.engines.inputBlocked(&e.Agent)
	e.Channel = c.engines.channel(e.Agent)
	e.Agent.Pending, e.Agent.Queued = len(e.Pending), len(e.Queue)
	return e, nil
}

// Interrupt keeps the contract of controlapi.Agents. The prompt of the turn is not said to be consumed.
func (c baseCity) Interrupt(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	before, unknown := c.Snapshot(target)
	begins := unknown == nil && c.engines.prompts.MayBegin(before.Session)
	if req.InTurn && unknown == nil && !begins && (req.Instance == "" || req.Instance == before.Instance) && between(before) {
		return client.Done{Session: before.Session, Detail: string(before.Activity.State) + ": " + client.NoTurn}, nil
	}
	done, err := c.Controller.Interrupt(ctx, target, req)
	if err == nil && done.Changed && unknown == nil && (begins || before.Activity.State == runtime.ActivityBusy) {
		c.engines.prompts.TurnAborted(ctx, before.Session, before.Instance)
	}
	return done, err
}

// between reports whether an agent has no turn in progress, by signals meant for programs. What is
// only read from its screen does not count.
func between(v session.Snapshot) bool {
	sure := v.Activity.Confidence == session.ConfidenceCertain || v.Activity.Confidence == session.ConfidenceLikely
	return v.Running && sure && (v.Activity.State == runtime.ActivityIdle || v.Activity.State == runtime.ActivityReady)
}

// Keys keeps the contract of controlapi.Agents. A person may have cleaned the input box with them.
func (c baseCity) Keys(ctx context.Context, target string, req client.KeysRequest) (client.Done, error) {
	done, err := c.Controller.Keys(ctx, target, req)
	if err == nil {
		c.engines.prompts.RecheckInput(done.Session)
	}
	return done, err
}

// ClearInput keeps the contract of controlapi.Agents.
func (c baseCity) ClearInput(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	done, err := c.Controller.ClearInput(ctx, target, req)
	if err == nil {
		c.engines.prompts.InputCleared(done.Session)
	}
	return done, err
}
