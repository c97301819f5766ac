package workers

import (
	"context"
	"maps"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
)

// The environment variables by which an agent finds its city.
const (
	VariableSocket = "GC_WORKER_SOCKET"
	VariableURL    = "GC_WORKER_URL"
	VariableToken  = "GC_WORKER_TOKEN"
	VariableRun    = "GC_RUN_ID"

	variableTrace    = "TRACEPARENT" // W3C trace context
	variableInstance = "GC_INSTANCE_TOKEN"
	variableAgent    = "GC_AGENT"
)

// WrapProvider returns a provider that uses the worker of a session if it is connected, and p
// otherwise.
func (e *Engine) WrapProvider(p runtime.Provider) runtime.Provider { return &providerWrapper{p, e} }

// providerWrapper is the provider that WrapProvider returns. Its starts add the city's environment
// variables.
type providerWrapper struct {
	runtime.Provider
	engine *Engine
}

var _ runtime.Router = (*providerWrapper)(nil)

// Start starts a session. Its run is registered before, so that the agent's worker can connect at
// once. It implements runtime.Runner.
func (o *providerWrapper) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return o.begin(ctx, name, cfg, func(cfg runtime.Config) error { return o.Provider.Start(ctx, name, cfg) })
}

// begin starts an agent with start, after it has registered the agent's run and added the city's
// environment variables to cfg. If start fails, it removes the run. If cfg has no instance token,
// it only calls start.
func (o *providerWrapper) begin(ctx context.Context, name string, cfg runtime.Config, start func(runtime.Config) error) error {
	instance := cfg.Env[variableInstance]
	if instance == "" {
		return start(cfg)
	}
	if err := o.engine.opts.Announce(name); err != nil {
		return err
	}
	a := o.engine.registerStart(name, cfg.Env[variableAgent], instance)
	generation, _ := a.generations()
	cfg.Env = maps.Clone(cfg.Env)
	cfg.Env[VariableToken], cfg.Env[VariableRun] = session.WorkerToken(instance, generation), a.id
	if cfg.Env[variableTrace] == "" {
		cfg.Env[variableTrace] = session.TraceParent(a.id)
	}
	for name, value := range map[string]string{VariableSocket: o.engine.opts.Socket, VariableURL: o.engine.opts.URL} {
		if value != "" {
			cfg.Env[name] = value
		}
	}
	if err := start(cfg); err != nil {
		o.engine.cancelStart(a)
		return err
	}
	o.engine.finishStart(a)
	if a.hasReported() { // reports that arrived during the start could not be saved before
		if err := a.saveMemoryTo(o.Provider); err != nil {
			o.engine.opts.Logger.Debug("cannot save the reports of a worker with its session", "session", name, "error", err)
		}
		o.engine.renew(ctx, a)
	}
	return nil
}

// Route returns the provider to use for a session: its worker's channel if a worker has reported
// for it, otherwise the underlying provider. It implements runtime.Router.
func (o *providerWrapper) Route(name string) runtime.Provider {
	below := o.Provider
	if name == "" {
		return below
	}
	if _, can := runtime.As[runtime.RelaunchProvider](below, name); can {
		below = &relaunchProvider{below, o}
	}
	if o.engine.isNative(name) {
		below = &workerOnly{Provider: below}
	}
	switch a := o.engine.runOf(name); {
	case a == nil:
		return &unknownWorker{Provider: below}
	case a.hasReported():
		return &channel{below, a}
	case !a.hasLoadedMemory():
		return &unknownWorker{Provider: below}
	case a.inStartupGrace():
		return &pendingWorker{Provider: below}
	}
	return below
}

// isNative reports whether the agent of a session gets prompts only by its worker.
func (e *Engine) isNative(name string) bool {
	v, err := e.opts.City.Snapshot(name)
	return err == nil && e.opts.Native(v.Agent)
}

// startupGrace is how long after its start an agent may take to connect to its city.
const startupGrace = 30 * time.Second

// inStartupGrace reports whether this controller started the agent less than [startupGrace] ago, so
// that its worker may be about to connect.
func (a *liveRun) inStartupGrace() bool {
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	return !a.begun.IsZero() && a.engine.opts.Now().Sub(a.begun) < startupGrace
}

// hasLoadedMemory reports whether the engine has read what an earlier controller stored about this
// run.
func (a *liveRun) hasLoadedMemory() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.memoryLoaded
}

// relaunchProvider is an underlying provider that implements runtime.RelaunchProvider.
type relaunchProvider struct {
	runtime.Provider
	outer *providerWrapper
}

var (
	_ runtime.RelaunchProvider = (*relaunchProvider)(nil)
	_ runtime.Router           = (*relaunchProvider)(nil)
)

// Route returns the underlying provider, for everything but Relaunch. It implements runtime.Router.
func (w *relaunchProvider) Route(string) runtime.Provider { return w.Provider }

// Relaunch starts the agent again in its existing session, with the registration of its run as in
// Start. It implements runtime.RelaunchProvider.
func (w *relaunchProvider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	return w.outer.begin(ctx, name, cfg, func(cfg runtime.Config) error { return runtime.Relaunch(ctx, w.Provider, name, cfg) })
}
