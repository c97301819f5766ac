package fake

import (
	"context"

	"gascity/runtime"
)

// Route implements runtime.Router. It returns the inner provider, wrapped in a link for each
// extension that has faults and that the inner provider has.
func (p *Faulty) Route(session string) runtime.Provider {
	next := p.inner
	if x, ok := runtime.As[runtime.Observer](p.inner, session); ok {
		next = &faultyObserver{link{next}, p, x}
	}
	if x, ok := runtime.As[runtime.Deliverer](p.inner, session); ok {
		next = &faultyDeliverer{link{next}, p, x}
	}
	if x, ok := runtime.As[runtime.Fencer](p.inner, session); ok {
		next = &faultyFencer{link{next}, p, x}
	}
	return next
}

// link is a wrapper that [runtime.As] passes on its way to the inner provider.
type link struct{ runtime.Provider }

// Route implements runtime.Router.
func (l link) Route(string) runtime.Provider { return l.Provider }

type faultyObserver struct {
	link
	p     *Faulty
	inner runtime.Observer
}

func (x *faultyObserver) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	return aroundValue(x.p, forCtx(ctx), "Observe", name, func() (runtime.Observation, error) { return x.inner.Observe(ctx, name) })
}

type faultyDeliverer struct {
	link
	p     *Faulty
	inner runtime.Deliverer
}

func (x *faultyDeliverer) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return aroundValue(x.p, forCtx(ctx), "Deliver", name, func() (runtime.Outcome, error) { return x.inner.Deliver(ctx, name, d) })
}

type faultyFencer struct {
	link
	p     *Faulty
	inner runtime.Fencer
}

func (x *faultyFencer) StopInstance(ctx context.Context, name, token string) error {
	return x.p.around(forCtx(ctx), "StopInstance", name, func() error { return x.inner.StopInstance(ctx, name, token) })
}

func (x *faultyFencer) InterruptInstance(ctx context.Context, name, token string) error {
	return x.p.around(forCtx(ctx), "InterruptInstance", name, func() error { return x.inner.InterruptInstance(ctx, name, token) })
}
