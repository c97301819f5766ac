package exchange

import (
	"context"
	"maps"
	"slices"
	"time"

	"gascity/internal/run"
	"gascity/runtime"
)

// The variables by which an agent finds its city.
const (
	VariableSocket = "GC_WORKER_SOCKET"
	VariableURL    = "GC_WORKER_URL"
	VariableToken  = "GC_WORKER_TOKEN"
	VariableRun    = "GC_RUN_ID"

	variableTrace    = "TRACEPARENT" // W3C trace context
	variableInstance = "GC_INSTANCE_TOKEN"
	variableAgent    = "GC_AGENT"
)

// Over returns a provider that serves sessions by their workers where these are
// connected, and by p otherwise.
func (e *Engine) Over(p runtime.Provider) runtime.Provider { return &over{p, e} }

// over is the provider below with starts that tell agents of the city.
type over struct {
	runtime.Provider
	engine *Engine
}

var _ runtime.Router = (*over)(nil)

// Start keeps the contract of runtime.Runner. The run is known before its agent can
// speak.
func (o *over) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return o.begin(ctx, name, cfg, func(cfg runtime.Config) error { return o.Provider.Start(ctx, name, cfg) })
}

func (o *over) begin(ctx context.Context, name string, cfg runtime.Config, start func(runtime.Config) error) error {
	instance := cfg.Env[variableInstance]
	if instance == "" {
		return start(cfg)
	}
	if announce := o.engine.opts.Announce; announce != nil {
		if err := announce(name); err != nil {
			return err
		}
	}
	a := o.engine.expect(name, cfg.Env[variableAgent], instance)
	generation, _ := a.generations()
	cfg.Env = maps.Clone(cfg.Env)
	cfg.Env[VariableToken], cfg.Env[VariableRun] = run.Token(instance, generation), a.id
	if cfg.Env[variableTrace] == "" {
		cfg.Env[variableTrace] = run.TraceParent(a.id)
	}
	for name, value := range map[string]string{VariableSocket: o.engine.opts.Socket, VariableURL: o.engine.opts.URL} {
		if value != "" {
			cfg.Env[name] = value
		}
	}
	if err := start(cfg); err != nil {
		o.engine.abandon(a)
		return err
	}
	o.engine.started(a)
	if a.speaks() { // what it has said while it was started could not be kept before
		if err := a.remember(o.Provider); err != nil {
			o.engine.opts.Logger.Debug("what a worker told is not kept with its session", "session", name, "error", err)
		}
		o.engine.renew(ctx, a)
	}
	return nil
}

// Route keeps the contract of runtime.Router: a session whose worker has spoken goes
// by its channel.
func (o *over) Route(name string) runtime.Provider {
	below := o.Provider
	if name == "" {
		return below
	}
	if _, can := runtime.As[runtime.RelaunchProvider](below, name); can {
		below = &warm{below, o}
	}
	switch a := o.engine.of(name); {
	case a == nil:
		return &unsure{below}
	case a.speaks():
		return &channel{below, a}
	case !a.knowsPast():
		return &unsure{below}
	case a.isYoung():
		return &unheard{below}
	}
	return below
}

// youth is how long after its start an agent may take to speak to its city.
const youth = 30 * time.Second

// isYoung reports whether a worker may be about to speak for the run.
func (a *active) isYoung() bool {
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	return !a.begun.IsZero() && a.engine.opts.Now().Sub(a.begun) < youth
}

// unheard is a session whose worker, should it have one, has not spoken yet: that the
// place cannot give it prompts does not say that nobody can.
type unheard struct{ runtime.Provider }

var (
	_ runtime.Router    = (*unheard)(nil)
	_ runtime.Deliverer = (*unheard)(nil)
)

// Route keeps the contract of runtime.Router.
func (u *unheard) Route(string) runtime.Provider { return u.Provider }

// Deliver keeps the contract of runtime.Deliverer.
func (u *unheard) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	out, err := runtime.Deliver(ctx, u.Provider, name, d)
	if err == nil && out.State == runtime.OutcomeUnsupported {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: "no worker speaks for the agent yet, and otherwise " + out.Detail}, nil
	}
	return out, err
}

func (a *active) knowsPast() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.recalled
}

// warm is a provider below that can launch again.
type warm struct {
	runtime.Provider
	over *over
}

var (
	_ runtime.RelaunchProvider = (*warm)(nil)
	_ runtime.Router           = (*warm)(nil)
)

// Route keeps the contract of runtime.Router.
func (w *warm) Route(string) runtime.Provider { return w.Provider }

// Relaunch keeps the contract of runtime.RelaunchProvider.
func (w *warm) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	return w.over.begin(ctx, name, cfg, func(cfg runtime.Config) error { return runtime.Relaunch(ctx, w.Provider, name, cfg) })
}

// unsure is a session of which the engine does not know yet whether an earlier
// controller spoke to its worker: after a restart, for a moment. What its note says is
// heeded, and all else goes below.
type unsure struct{ runtime.Provider }

var (
	_ runtime.Router     = (*unsure)(nil)
	_ runtime.Sensor     = (*unsure)(nil)
	_ runtime.Deliverer  = (*unsure)(nil)
	_ runtime.Settler    = (*unsure)(nil)
	_ runtime.Withdrawer = (*unsure)(nil)
)

// Route keeps the contract of runtime.Router.
func (u *unsure) Route(string) runtime.Provider { return u.Provider }

// Sense keeps the contract of runtime.Sensor: a session whose context is compacted is at
// work.
func (u *unsure) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	reading, err := runtime.Sense(ctx, u.Provider, name)
	if err != nil || reading.Instance == "" {
		return reading, err
	}
	m, err := recalledBy(u.Provider, name, run.ID(reading.Instance))
	if err == nil && m.Lock.Held() && !m.Lock.Leaves {
		reading.Evidence = append(slices.Clone(reading.Evidence), compacting(m.Lock.Since, reading.At))
	}
	return reading, nil
}

// Deliver keeps the contract of runtime.Deliverer.
func (u *unsure) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if d.Instance != "" {
		if m, err := recalledBy(u.Provider, name, run.ID(d.Instance)); err == nil && m.Streamed {
			return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedUnready, Detail: detailReturning}, nil
		}
	}
	return runtime.Deliver(ctx, u.Provider, name, d)
}

// Settle keeps the contract of runtime.Settler.
func (u *unsure) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if d.Instance != "" {
		m, err := recalledBy(u.Provider, name, run.ID(d.Instance))
		if err != nil || newestName(m.Sent, d.ID) != "" {
			return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedUnready, Detail: detailReturning}, nil //nolint:nilerr // it is asked for again
		}
	}
	return runtime.Settle(ctx, u.Provider, name, d)
}

// Withdraw keeps the contract of runtime.Withdrawer.
func (u *unsure) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	return withdrawn(u.Settle(ctx, name, d))
}
