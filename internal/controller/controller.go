package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

// Controller reconciles the running agents of one city with its configuration. Its methods may be
// called concurrently. They answer only while [Controller.Run] runs.
type Controller struct {
	opts      Options
	first     Loaded
	start     storedRecords // the records that the store held at the start
	published *snapshotStore

	calls        chan func(*loop) // functions for the loop to run; send without holding a lock
	ended        chan struct{}    // closed when Run has returned
	storeChanged atomic.Bool      // the store started to fail or works again
}

// Open reads the configuration and the records. It starts, stops and observes no session.
func Open(ctx context.Context, opts Options) (*Controller, error) {
	loaded, err := opts.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot load the city: %w", err)
	}
	c := &Controller{opts: opts, first: loaded, published: newSnapshotStore(), calls: make(chan func(*loop), 256), ended: make(chan struct{})}
	c.start = readRecords(ctx, opts.Records)
	l := newLoop(c)
	l.decide() // so that the first request already finds every name
	l.publish()
	c.published.Changed = opts.Changed
	return c, nil
}

// Run reconciles the running agents with the configuration until ctx ends or the control API asks
// it to exit. It then returns nil; sessions keep running unless they were stopped before. It
// returns an error if a job did not return or the store did not accept the last records. Call Run
// once.
func (c *Controller) Run(ctx context.Context) error {
	defer close(c.ended)
	l := newLoop(c)
	return l.run(ctx)
}

// errEnded is the answer to a request after Run has returned.
var errEnded = fmt.Errorf("%w: the controller has stopped; start it with: gc start", client.ErrUnavailable)

// ask runs f in the loop and returns the value that f passes to answer. f calls answer exactly
// once, before it returns or later. ask returns an error when ctx ends before that, or when the
// controller has stopped.
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

// post runs f in the loop later. It returns when the loop has received f, or when Run has returned.
func (c *Controller) post(f func(l *loop)) {
	select {
	case c.calls <- f:
	case <-c.ended:
	}
}

// timedOut returns the error of a request whose context has ended.
func timedOut(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: the controller has not finished the request yet; see: gc status", client.ErrTimeout)
	}
	return err
}

// emit saves and logs an event about the session of e, or about the whole city if e is nil.
func (l *loop) emit(kind event.Kind, e *entry, text string, data map[string]string) {
	var r *session.Record
	if e != nil {
		r = &e.rec
	}
	l.c.appendEvent(l.ctx, kind, r, text, data)
}
