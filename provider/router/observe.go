package router

import (
	"context"
	"errors"
	"slices"
	"sync"

	"gascity/runtime"
)

// state is the result of an observation of a session at one backend.
type state int

const (
	unknown state = iota // the backend did not answer, or does not know
	absent               // the session certainly does not exist at the backend
	exited               // the session exists, its agent has exited
	running              // the session exists, and no exit of its agent was seen
)

// observation is the result of observing a session at one backend.
type observation struct {
	backend *Backend
	state   state
	obs     runtime.Observation
	err     error // the reason for the state unknown
}

// answer is the result of a call of a backend.
type answer[V any] struct {
	value V
	err   error
}

// query calls question, which calls backend b, and returns its result. It returns an error when ctx
// ends, also if the backend never answers.
func query[V any](ctx context.Context, p *Provider, b *Backend, question func() (V, error)) (V, error) {
	var none V
	if b.Provider == nil {
		return none, b.unavailable(b.Err)
	}
	answers := make(chan answer[V], 1)
	p.queries.Go(func() {
		value, err := question()
		answers <- answer[V]{value, err}
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, b.unavailable(context.Cause(ctx))
	}
}

// observe observes the session at one backend.
func (p *Provider) observe(ctx context.Context, b *Backend, name string) observation {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	obs, err := query(ctx, p, b, func() (runtime.Observation, error) { return runtime.Observe(ctx, b.Provider, name) })
	s := observation{backend: b, obs: obs}
	switch {
	case err != nil:
		s.err = b.unavailable(err)
	case obs.Session == runtime.Dead:
		s.state = absent
	case obs.Session == runtime.Alive && obs.Agent == runtime.Dead:
		s.state = exited
	case obs.Session == runtime.Alive:
		s.state = running
	default:
		s.state, s.err = p.listed(ctx, b, name)
	}
	return s
}

// listed returns the state of a session at a backend that cannot observe. The session is absent if
// a complete list of running sessions does not have its name.
func (p *Provider) listed(ctx context.Context, b *Backend, name string) (state, error) {
	if _, ok := runtime.As[runtime.Observer](b.Provider, name); ok {
		return unknown, b.unavailable(errors.New("it cannot report whether the session exists"))
	}
	names, err := query(ctx, p, b, func() ([]string, error) { return b.Provider.ListRunning(name) })
	switch {
	case slices.Contains(names, name):
		return running, nil
	case err != nil:
		return unknown, b.unavailable(err)
	}
	return absent, nil
}

// observeAll observes the session at several backends concurrently. The results are in the order of
// backends.
func (p *Provider) observeAll(ctx context.Context, backends []*Backend, name string) []observation {
	observations := make([]observation, len(backends))
	var pending sync.WaitGroup
	for i, b := range backends {
		pending.Go(func() { observations[i] = p.observe(ctx, b, name) })
	}
	pending.Wait()
	return observations
}

// others returns all backends except the given one; all backends if it is nil.
func (p *Provider) others(except *Backend) []*Backend {
	return slices.DeleteFunc(slices.Clone(p.backends), func(b *Backend) bool { return b == except })
}

// find searches for the session, first at the backend that the policy names. It queries the other
// backends only if the session does not run there. The result names the backend that has the
// session. Its state is absent if the session is at no backend. Its state is unknown if a backend
// did not answer and no other backend runs the session.
func (p *Provider) find(ctx context.Context, name string) observation {
	home, err := p.policyBackend(name)
	best := observation{state: absent, err: err}
	if home != nil {
		if best = p.observe(ctx, home, name); best.state == running {
			return best
		}
	}
	for _, s := range p.observeAll(ctx, p.others(home), name) {
		switch {
		case s.state == running:
			return s
		case best.backend == home && best.state != absent: // the answer of home counts
		case s.state == unknown, s.state == exited && best.state == absent:
			best = s
		}
	}
	return best
}

// at returns the backend that has the session, for the operation op.
func (p *Provider) at(op, name string) (*Backend, error) {
	ctx, cancel := p.context()
	defer cancel()
	s := p.find(ctx, name)
	switch {
	case s.state == unknown:
		return nil, &runtime.Error{Op: op, Session: name, Err: s.err}
	case s.backend == nil: // the policy names no backend, and no backend has the session
		return nil, &runtime.Error{Op: op, Session: name, Err: errors.Join(runtime.ErrSessionNotFound, s.err)}
	}
	return s.backend, nil
}

// callBackend calls do with the provider that has the session, for the operation op.
func (p *Provider) callBackend(op, name string, do func(runtime.Provider) error) error {
	b, err := p.at(op, name)
	if err != nil {
		return err
	}
	return b.wrap(do(b.Provider))
}

// Observe implements runtime.Observer. It reports a session as dead only if all backends report
// that it does not exist.
func (p *Provider) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	s := p.find(ctx, name)
	if s.backend == nil {
		return runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead, Attached: -1}, nil
	}
	if s.state == unknown {
		s.obs.Session, s.obs.Agent = runtime.Unknown, runtime.Unknown
		if cause := context.Cause(ctx); cause != nil {
			return s.obs, cause
		}
		return s.obs, &runtime.Error{Op: "observe", Session: name, Err: s.err}
	}
	return s.obs, nil
}

// Recover implements runtime.Recoverer.
func (p *Provider) Recover(ctx context.Context, name, handle string) error {
	s := p.find(ctx, name)
	switch {
	case s.state == unknown:
		return &runtime.Error{Op: "recover", Session: name, Err: s.err}
	case s.backend == nil || s.state == absent:
		return &runtime.Error{Op: "recover", Session: name, Err: runtime.ErrSessionNotFound}
	}
	return s.backend.wrap(runtime.Recover(ctx, s.backend.Provider, name, handle))
}
