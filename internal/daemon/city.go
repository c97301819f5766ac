package daemon

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"gascity/client"
	"gascity/internal/api"
	"gascity/internal/budget"
	"gascity/internal/controller"
	"gascity/internal/credential"
	"gascity/internal/delivery"
	"gascity/internal/exchange"
	"gascity/internal/pending"
	"gascity/internal/plan"
	"gascity/internal/redact"
	"gascity/internal/wait"
)

// engines are those who deal with sessions beside the controller. An engine
// looks at a session whenever the controller says that it has changed.
type engines struct {
	prompts   *delivery.Engine
	questions *pending.Desk
	waits     *wait.Waits
	workers   *exchange.Engine
	spending  *budget.Engine
	broker    *credential.Broker
	desired   func(agent string) plan.Session // see keeper.desired
}

// look tells every engine that a session has changed. It never blocks.
func (e *engines) look(session string) {
	e.prompts.Look(session)
	e.questions.Look(session)
	e.waits.Look(session)
	e.workers.Look(session)
	e.spending.Look(session)
	e.broker.Look(session)
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
	return group.Wait()
}

// city is what the control API serves: the controller and the engines. What
// agents have printed is answered without the values of credentials, but for what
// stands on a screen now.
type city struct {
	*controller.Controller
	api.Prompts
	api.Questions
	api.Conditions
	engines *engines
	secrets *redact.Redactor
}

var _ api.City = city{}

func compose(c *controller.Controller, e *engines, secrets *redact.Redactor) city {
	return city{Controller: c, Prompts: e.prompts, Questions: e.questions, Conditions: e.waits, engines: e, secrets: secrets}
}

// Status adds to the controller's snapshot what waits at the engines.
func (c city) Status(ctx context.Context) (client.Status, error) {
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
	shown := make([]*string, 0, 4*len(status.Agents))
	for i := range status.Agents {
		a := &status.Agents[i]
		shown = append(shown, &a.Reason, &a.Warning, &a.Exit, &a.Activity.Detail)
		a.Queued, a.Pending = queued[a.Session], asked[a.Session]
	}
	c.secrets.Texts(shown...)
	c.engines.spending.Status(&status)
	for i := range status.Agents {
		c.engines.guarded(&status.Agents[i], c.View)
		status.Agents[i].Worker = c.engines.workers.Told(status.Agents[i].Session, status.Agents[i].Instance)
	}
	return status, nil
}

// Explain adds to the controller's explanation what waits at the engines.
func (c city) Explain(ctx context.Context, target string) (client.Explanation, error) {
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
	c.engines.guarded(&e.Agent, c.View)
	e.Agent.Worker = c.engines.workers.Told(e.Agent.Session, e.Agent.Instance)
	e.Agent.Pending, e.Agent.Queued = len(e.Pending), len(e.Queue)
	return redact.Value(c.secrets, e), nil
}

// Session keeps the contract of api.Views.
func (c city) Session(ctx context.Context, target string) (client.Session, error) {
	s, err := c.Controller.Session(ctx, target)
	return redact.Value(c.secrets, s), err
}

// Plan keeps the contract of api.Views.
func (c city) Plan(ctx context.Context) (client.Plan, error) {
	p, err := c.Controller.Plan(ctx)
	return redact.Value(c.secrets, p), err
}

// Pending keeps the contract of api.Questions.
func (c city) Pending(ctx context.Context, target string, which client.Which) ([]client.Pending, error) {
	list, err := c.Questions.Pending(ctx, target, which)
	return redact.Value(c.secrets, list), err
}

// Respond keeps the contract of api.Questions.
func (c city) Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error) {
	p, err := c.Questions.Respond(ctx, id, req)
	return redact.Value(c.secrets, p), err
}

// Queue keeps the contract of api.Prompts.
func (c city) Queue(ctx context.Context, target string, which client.Which) ([]client.Receipt, error) {
	list, err := c.Prompts.Queue(ctx, target, which)
	return redact.Value(c.secrets, list), err
}

// Receipt keeps the contract of api.Prompts.
func (c city) Receipt(ctx context.Context, id, wait string) (client.Receipt, error) {
	r, err := c.Prompts.Receipt(ctx, id, wait)
	return redact.Value(c.secrets, r), err
}

// Await keeps the contract of api.Conditions.
func (c city) Await(ctx context.Context, req client.WaitRequest) (client.Wait, error) {
	w, err := c.Conditions.Await(ctx, req)
	return redact.Value(c.secrets, w), err
}

// Waits keeps the contract of api.Conditions.
func (c city) Waits(ctx context.Context, which client.Which) ([]client.Wait, error) {
	list, err := c.Conditions.Waits(ctx, which)
	return redact.Value(c.secrets, list), err
}
