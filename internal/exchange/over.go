package exchange

import (
	"context"
	"maps"

	"gascity/internal/run"
	"gascity/runtime"
)

// The variables by which an agent finds its city.
const (
	VariableSocket = "GC_WORKER_SOCKET"
	VariableToken  = "GC_WORKER_TOKEN"
	VariableRun    = "GC_RUN_ID"

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
	return o.begin(name, cfg, func(cfg runtime.Config) error { return o.Provider.Start(ctx, name, cfg) })
}

func (o *over) begin(name string, cfg runtime.Config, start func(runtime.Config) error) error {
	instance := cfg.Env[variableInstance]
	if instance == "" {
		return start(cfg)
	}
	was := o.engine.of(name)
	a := newActive(o.engine, name, cfg.Env[variableAgent], instance)
	a.starting = true
	o.engine.expect(a)
	cfg.Env = maps.Clone(cfg.Env)
	cfg.Env[VariableSocket], cfg.Env[VariableToken], cfg.Env[VariableRun] = o.engine.opts.Socket, run.Token(instance, 0), a.id
	err := start(cfg)
	a.setStarting(false)
	if err != nil {
		o.engine.abandon(a)
		return err
	}
	o.engine.replace(was, a)
	return nil
}

// expect makes the token of a run that is being started known. The run of the name,
// should there be one, stays until the start has succeeded: it may not have been
// this caller's to replace.
func (e *Engine) expect(a *active) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.byID[a.id] = a
	e.tokens[run.Fold(run.Token(a.instance, 0))] = a
	if e.runs[a.session] == nil {
		e.runs[a.session] = a
	}
}

// replace puts a run that has been started in the place of another.
func (e *Engine) replace(was, a *active) {
	e.mu.Lock()
	now := e.runs[a.session]
	if now != nil && now != a {
		e.forgetLocked(now)
	}
	e.runs[a.session] = a
	e.mu.Unlock()
	for _, old := range []*active{was, now} {
		if old != nil && old != a {
			old.close(run.Item{End: true})
		}
	}
}

// abandon forgets a run whose start has failed.
func (e *Engine) abandon(a *active) {
	e.mu.Lock()
	delete(e.byID, a.id)
	delete(e.tokens, run.Fold(run.Token(a.instance, 0)))
	if e.runs[a.session] == a {
		delete(e.runs, a.session)
	}
	e.mu.Unlock()
	a.close(run.Item{End: true})
}

// Route keeps the contract of runtime.Router: a session whose worker has spoken goes
// by its channel.
func (o *over) Route(name string) runtime.Provider {
	below := o.Provider
	if _, can := runtime.As[runtime.RelaunchProvider](below, name); can && name != "" {
		below = &warm{below, o}
	}
	if a := o.engine.of(name); a != nil && a.speaks() {
		return &channel{below, a}
	}
	return below
}

// speaks reports whether a worker has ever spoken for the run.
func (a *active) speaks() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reader != nil || len(a.life.Reports) > 0 || len(a.asked) > 0
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
	return w.over.begin(name, cfg, func(cfg runtime.Config) error { return runtime.Relaunch(ctx, w.Provider, name, cfg) })
}
