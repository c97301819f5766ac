package router

import (
	"context"
	"errors"
	"sync"

	"gascity/runtime"
)

// Start implements runtime.Runner, at the backend that the policy
// names. If that is not there, the error matches [ErrNoBackend] or
// [runtime.ErrRuntimeUnavailable] and nothing was done; so it is if the session
// may be at another backend that does not answer. What is left there of an agent
// that has ended is removed first.
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

// begin records a start that is under way. Starts of one session at one backend are
// left to the backend; at another one the name is taken.
func (p *Provider) begin(name string, at *backend) (end func(), err error) {
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

// starting returns the backend where a start of the session is under way.
func (p *Provider) starting(name string) *backend {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.starts[name]; ok {
		return f.backend
	}
	return nil
}

// clear ensures that the session is at no other backend than home. Nothing is
// removed before all have answered.
func (p *Provider) clear(ctx context.Context, name string, home *backend) error {
	sights := p.observeAll(ctx, p.others(home), name)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, s := range sights {
		switch s.state {
		case unknown:
			return s.err
		case running:
			return s.backend.wrap(runtime.ErrSessionExists)
		default:
		}
	}
	for _, s := range sights {
		if s.state == exited {
			if err := p.stopAt(ctx, s.backend, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopAt stops the session at one backend and looks whether it is gone.
func (p *Provider) stopAt(ctx context.Context, b *backend, name string) error {
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
		return nil // what is there now was started meanwhile
	default:
		return b.wrap(errors.New("the session is still there"))
	}
}

// Stop implements runtime.Runner: the session is stopped wherever it
// is, and nil says that every backend has answered that it is not there.
func (p *Provider) Stop(name string) error {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	errs := p.everywhere(ctx, name, func(b *backend) error { return p.stopAt(ctx, b, name) })
	if err := errors.Join(errs...); err != nil {
		return &runtime.Error{Op: "stop", Session: name, Err: err}
	}
	return nil
}

// everywhere does what ends a session at each backend where it may be: not where
// it is certainly gone, unless that is where it may just be starting.
func (p *Provider) everywhere(ctx context.Context, name string, do func(*backend) error) []error {
	home, err := p.policyBackend(name)
	if err != nil {
		home = nil // it has none: then it is looked for
	}
	errs := make([]error, len(p.backends))
	var ends sync.WaitGroup
	for i, b := range p.backends {
		ends.Go(func() {
			if b != home && b != p.starting(name) {
				if s := p.observe(ctx, b, name); s.state == absent {
					return
				}
			}
			errs[i] = do(b)
		})
	}
	ends.Wait()
	return errs
}

// StopInstance implements runtime.Fencer, wherever the instance is.
func (p *Provider) StopInstance(ctx context.Context, name, token string) error {
	return p.fenced(ctx, "stop", name, func(b *backend) error { return runtime.StopInstance(ctx, b.Provider, name, token) })
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

// fenced ends an instance at each backend where it may be. Another instance
// matters only if the one that is meant was nowhere.
func (p *Provider) fenced(ctx context.Context, op, name string, do func(*backend) error) error {
	ended := make(map[*backend]bool, len(p.backends))
	var mu sync.Mutex
	errs := p.everywhere(ctx, name, func(b *backend) error {
		if b.Provider == nil {
			return b.unavailable(b.Err)
		}
		before := p.observe(ctx, b, name)
		err := do(b)
		mu.Lock()
		defer mu.Unlock()
		ended[b] = err == nil && before.state >= exited
		return b.wrap(err)
	})
	hit := false
	for _, yes := range ended {
		hit = hit || yes
	}
	for i, err := range errs {
		if hit && errors.Is(err, runtime.ErrStaleInstance) {
			errs[i] = nil
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &runtime.Error{Op: op, Session: name, Err: err}
	}
	return nil
}

// Interrupt implements runtime.Runner.
func (p *Provider) Interrupt(name string) error {
	b, err := p.at("interrupt", name)
	if runtime.IsSessionGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.wrap(b.Provider.Interrupt(name))
}
