package router

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"gascity/runtime"
)

// Start implements runtime.Runner. It starts the session at the backend that the policy names. If
// the router does not have that backend, the error matches [ErrNoBackend]. If that backend is
// unavailable, or another backend that may have the session does not answer, the error matches
// [runtime.ErrRuntimeUnavailable]. In these cases nothing was done. Before the start, Start removes
// the session of an exited agent from the other backends.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := runtime.ValidateName(name); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	home, err := p.policyBackend(name)
	if err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	if home.Provider == nil {
		return &runtime.Error{Op: "start", Session: name, Err: home.unavailable(home.Err)}
	}
	end, err := p.begin(name, home)
	if err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	defer end()
	if err := p.clear(ctx, name, home); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	return home.wrap(home.Provider.Start(ctx, name, cfg))
}

// begin records a running start of the session and returns the function that ends the record.
// Concurrent starts at one backend are allowed; that backend decides. If a start runs at another
// backend, begin returns an error that matches runtime.ErrSessionExists.
func (p *Provider) begin(name string, at *Backend) (end func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.starts[name]
	if !ok {
		f = &runningStarts{backend: at}
		p.starts[name] = f
	}
	if f.backend != at {
		return nil, f.backend.wrap(runtime.ErrSessionExists)
	}
	f.count++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if f.count--; f.count == 0 {
			delete(p.starts, name)
		}
	}, nil
}

// starting returns the backend where a start of the session runs, or nil.
func (p *Provider) starting(name string) *Backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.starts[name]; ok {
		return f.backend
	}
	return nil
}

// clear ensures that no backend other than home has the session. It removes nothing before all
// backends have answered.
func (p *Provider) clear(ctx context.Context, name string, home *Backend) error {
	observations := p.observeAll(ctx, p.others(home), name)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, s := range observations {
		switch s.state {
		case unknown:
			return s.err
		case running:
			return s.backend.wrap(runtime.ErrSessionExists)
		default:
		}
	}
	for _, s := range observations {
		if s.state == exited {
			if err := p.stopAt(ctx, s.backend, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopAt stops the session at one backend and checks that it is gone.
func (p *Provider) stopAt(ctx context.Context, b *Backend, name string) error {
	if b.Provider == nil {
		return b.unavailable(b.Err)
	}
	before := p.observe(ctx, b, name)
	if err := b.Provider.Stop(name); err != nil {
		return b.wrap(err)
	}
	switch after := p.observe(ctx, b, name); {
	case after.state == unknown:
		return after.err
	case after.state == absent, before.state == absent, before.state != unknown && before.obs.InstanceToken != after.obs.InstanceToken:
		return nil // the session that exists now was started meanwhile
	default:
		return b.wrap(errors.New("the session still exists after the stop"))
	}
}

// Stop implements runtime.Runner. It stops the session at every backend that has it. It returns nil
// only if every backend reports that the session does not exist.
func (p *Provider) Stop(name string) error {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	errs := p.everywhere(ctx, name, func(b *Backend) error { return p.stopAt(ctx, b, name) })
	if err := errors.Join(errs...); err != nil {
		return &runtime.Error{Op: "stop", Session: name, Err: err}
	}
	return nil
}

// everywhere calls do for each backend that may have the session: the backend of the policy, the
// backend where a start runs, and all others except those that report its absence. The errors are
// in the order of the backends.
func (p *Provider) everywhere(ctx context.Context, name string, do func(*Backend) error) []error {
	home, err := p.policyBackend(name)
	if err != nil {
		home = nil // the policy names no backend: all backends are observed
	}
	errs := make([]error, len(p.backends))
	var calls sync.WaitGroup
	for i, b := range p.backends {
		calls.Go(func() {
			if b != home && b != p.starting(name) {
				if s := p.observe(ctx, b, name); s.state == absent {
					return
				}
			}
			errs[i] = do(b)
		})
	}
	calls.Wait()
	return errs
}

// StopInstance implements runtime.Fencer. It stops the instance at every backend that may have it. If
// one backend stopped the instance, it ignores ErrStaleInstance errors of the others.
func (p *Provider) StopInstance(ctx context.Context, name, token string) error {
	var stopped atomic.Bool
	errs := p.everywhere(ctx, name, func(b *Backend) error {
		if b.Provider == nil {
			return b.unavailable(b.Err)
		}
		before := p.observe(ctx, b, name)
		err := runtime.StopInstance(ctx, b.Provider, name, token)
		if err == nil && before.state >= exited {
			stopped.Store(true)
		}
		return b.wrap(err)
	})
	if stopped.Load() {
		errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, runtime.ErrStaleInstance) })
	}
	if err := errors.Join(errs...); err != nil {
		return &runtime.Error{Op: "stop", Session: name, Err: err}
	}
	return nil
}

// InterruptInstance implements runtime.Fencer.
func (p *Provider) InterruptInstance(ctx context.Context, name, token string) error {
	s := p.find(ctx, name)
	switch {
	case s.state == unknown:
		return &runtime.Error{Op: "interrupt", Session: name, Err: s.err}
	case s.backend == nil:
		return nil
	}
	return s.backend.wrap(runtime.InterruptInstance(ctx, s.backend.Provider, name, token))
}
