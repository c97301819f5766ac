package fake

import (
	"context"
	"slices"
	"sync"
	"time"

	"gascity/runtime"
)

// Faulty wraps a provider and injects faults into the methods of runtime.Provider and into Observe,
// Deliver, StopInstance and InterruptInstance. It forwards other extensions unchanged. Without
// faults it behaves like the inner provider. Use [NewFaulty] to create one.
type Faulty struct {
	inner runtime.Provider

	mu     sync.Mutex // guards faults and their counters
	faults []*activeFault
}

// Fault is a failure of some calls. Its zero value matches every call and does nothing.
type Fault struct {
	Op      string // the method's name ("Stop"); empty means any
	Session string // empty means any
	Skip    int    // so many calls pass first
	Times   int    // so many calls are concerned; zero means all later ones
	// Delay is the time before the call. It ends early if the call's ctx ends.
	Delay time.Duration
	// Err is returned instead of the call's result. A method without an error result then returns
	// false or zero.
	Err error
	// LostReply means that the call is made first, and then Err is returned.
	LostReply bool
	// Names changes the names that ListRunning returns. With an Err such as
	// [runtime.PartialListError] they are returned together with it; without one the result is
	// wrong and no error shows it.
	Names func(names []string) []string
}

type activeFault struct {
	Fault
	seen int
}

var (
	_ runtime.Provider = (*Faulty)(nil)
	_ runtime.Router   = (*Faulty)(nil)
)

// NewFaulty wraps inner without any fault.
func NewFaulty(inner runtime.Provider) *Faulty { return &Faulty{inner: inner} }

// Inject adds a fault and returns the function that removes it. If several faults match a call, the
// oldest one applies.
func (p *Faulty) Inject(f Fault) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	active := &activeFault{Fault: f}
	p.faults = append(p.faults, active)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = slices.DeleteFunc(p.faults, func(x *activeFault) bool { return x == active })
	}
}

// faultFor counts the call and returns the fault that applies, or the zero Fault.
func (p *Faulty) faultFor(op, session string) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if f.Op != "" && f.Op != op || f.Session != "" && f.Session != session {
			continue
		}
		if f.seen++; f.seen > f.Skip && (f.Times == 0 || f.seen <= f.Skip+f.Times) {
			return f.Fault
		}
	}
	return Fault{}
}

// hold waits for a fault's delay.
type hold func(delay time.Duration) error

// forCtx returns a function that waits for a delay, unless ctx ends first.
func forCtx(ctx context.Context) hold {
	return func(delay time.Duration) error {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sleepFor waits for the delay and returns nil. It is for methods without a context.
func sleepFor(delay time.Duration) error {
	<-time.After(delay)
	return nil
}

// around makes a call whose only result is an error, with the fault that applies.
func (p *Faulty) around(wait hold, op, session string, call func() error) error {
	_, err := aroundValue(p, wait, op, session, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// aroundValue makes a call that returns a value and an error, with the fault that applies.
func aroundValue[V any](p *Faulty, wait hold, op, session string, call func() (V, error)) (V, error) {
	var none V
	f := p.faultFor(op, session)
	if f.Delay > 0 {
		if err := wait(f.Delay); err != nil {
			return none, err
		}
	}
	if f.Err == nil {
		return call()
	}
	if f.LostReply {
		if _, err := call(); err != nil {
			return none, err
		}
	}
	return none, &runtime.Error{Op: op, Session: session, Err: f.Err}
}

// callSimple makes a call without an error result, with the fault that applies.
func callSimple[V any](p *Faulty, op, session string, call func() V) V {
	value, err := aroundValue(p, sleepFor, op, session, func() (V, error) { return call(), nil })
	if err != nil {
		var none V
		return none
	}
	return value
}
