package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"gascity/client"
	"gascity/internal/controller/persist"
	"gascity/internal/controller/snapshot"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// Controller keeps one city true. Its methods may be called concurrently, and
// answer from the moment that [Controller.Run] runs.
type Controller struct {
	*snapshot.Service
	opts  Options
	first Loaded
	start persist.Recalled // what the store held

	calls        chan func(*loop) // to the loop; never sent to while holding anything
	ended        chan struct{}    // closed when Run has returned
	storeChanged atomic.Bool      // the store has changed for the better or the worse
}

// Open reads the configuration and the records. It touches no session yet.
func Open(ctx context.Context, opts Options) (*Controller, error) {
	loaded, err := opts.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot load the city: %w", err)
	}
	front := &snapshot.Service{Store: &snapshot.Store{}, Log: opts.Events, Logger: opts.Logger, Choices: opts.Providers}
	c := &Controller{Service: front, opts: opts, first: loaded, calls: make(chan func(*loop), 256), ended: make(chan struct{})}
	c.start = persist.Recall(ctx, opts.Records)
	l := newLoop(c)
	l.decide() // so that every name is known from the first request on
	l.publish()
	front.Store.Changed = opts.Changed
	return c, nil
}

// Run reconciles the running agents with the configuration until ctx ends or the
// control API asks it to exit. It returns nil then: sessions go on unless they
// were asked to stop. An error means that a job of its own would not end. Run is
// called once.
func (c *Controller) Run(ctx context.Context) error {
	defer close(c.ended)
	l := newLoop(c)
	return l.run(ctx)
}

// errEnded answers requests to a controller that has ended.
var errEnded = fmt.Errorf("%w: the controller has ended", client.ErrUnavailable)

// ask runs f in the loop and waits for its answer. f answers at once or keeps
// the function to answer later; it must be called exactly once.
func ask[T any](ctx context.Context, c *Controller, f func(l *loop, answer func(T, error))) (T, error) {
	type reply struct {
		value T
		err   error
	}
	replies := make(chan reply, 1)
	request := func(l *loop) { f(l, func(value T, err error) { replies <- reply{value, err} }) }
	var none T
	select {
	case c.calls <- request:
	case <-ctx.Done():
		return none, timedOut(ctx)
	case <-c.ended:
		return none, errEnded
	}
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		return none, timedOut(ctx)
	case <-c.ended:
		select {
		case r := <-replies:
			return r.value, r.err
		default:
			return none, errEnded
		}
	}
}

func timedOut(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: the controller is still at it; look at the status", client.ErrTimeout)
	}
	return err
}

// emit emits an event about an entry, or about the city if e is nil.
func (c *Controller) emit(kind event.Kind, e *entry, text string, data map[string]string) {
	var r *session.Record
	if e != nil {
		r = &e.rec
	}
	c.AppendEvent(kind, r, text, data)
}
