package router

import (
	"context"
	"errors"
	"slices"
	"sync"

	"gascity/runtime"
)

// state is what a look at one backend found.
type state int

const (
	unknown state = iota // it is not known
	absent               // the session is certainly not there
	exited               // it is there, its agent has ended
	running              // it is there, and its agent has not been seen to end
)

// observation is one look at one backend.
type observation struct {
	backend *backend
	state   state
	obs     runtime.Observation
	err     error // why it is unknown
}

// answer is what a question to a backend brought.
type answer[V any] struct {
	value V
	err   error
}

// query asks a backend and waits for its answer as long as ctx lasts, also where the
// backend itself would wait for ever.
func query[V any](ctx context.Context, p *Provider, b *backend, question func() (V, error)) (V, error) {
	var none V
	if b.Provider == nil {
		return none, b.unavailable(b.Err)
	}
	answers := make(chan answer[V], 1)
	p.asking.Go(func() {
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

// observe searches for the session at one backend.
func (p *Provider) observe(ctx context.Context, b *backend, name string) observation {
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

// listed proves absence where the driver cannot: a complete list of what runs does
// not have the name.
func (p *Provider) listed(ctx context.Context, b *backend, name string) (state, error) {
	if _, ok := runtime.As[runtime.Observer](b.Provider, name); ok {
		return unknown, b.unavailable(errors.New("it cannot report whether the session is there"))
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

// observeAll looks at several backends at once. The sights are in their order.
func (p *Provider) observeAll(ctx context.Context, backends []*backend, name string) []observation {
	sights := make([]observation, len(backends))
	var looks sync.WaitGroup
	for i, b := range backends {
		looks.Go(func() { sights[i] = p.observe(ctx, b, name) })
	}
	looks.Wait()
	return sights
}

// others returns the backends beside one, all if it is nil.
func (p *Provider) others(than *backend) []*backend {
	return slices.DeleteFunc(slices.Clone(p.backends), func(b *backend) bool { return b == than })
}

// find searches for the session: at home first, elsewhere only if it does not run
// there. The sight is that of the backend where it is; its state is gone if it is
// certainly at none, and unknown if it is at none of those that answered.
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
		case best.backend == home && best.state != absent: // what home says of it holds
		case s.state == unknown, s.state == exited && best.state == absent:
			best = s
		}
	}
	return best
}

// at returns the backend that an operation on the session goes to.
func (p *Provider) at(op, name string) (*backend, error) {
	ctx, cancel := p.context()
	defer cancel()
	s := p.find(ctx, name)
	switch {
	case s.state == unknown:
		return nil, &runtime.Error{Op: op, Session: name, Err: s.err}
	case s.backend == nil: // it has no home, and is nowhere
		return nil, &runtime.Error{Op: op, Session: name, Err: errors.Join(runtime.ErrSessionNotFound, s.err)}
	}
	return s.backend, nil
}

// Observe implements runtime.Observer. A session that is at none of the
// backends is dead only if all of them say so.
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
