// Package engine has the parts that the engines of a city share: the loop, the start and end of an engine, the first read of
// the store, and saves that are tried again.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/retry"
)

// Signal wakes the goroutine that waits for it. Several wake-ups before that goroutine waits again count once.
type Signal chan struct{}

// NewSignal returns a signal that wakes nothing yet.
func NewSignal() Signal { return make(Signal, 1) }

// Wake wakes the waiting goroutine. It never blocks.
func (s Signal) Wake() {
	select {
	case s <- struct{}{}:
	default: // it is already woken
	}
}

// Loop calls work at once, and then whenever woken receives a value or the time has come that work returned as next. A zero next
// means that there is no such time. due is true if work is called because of the time. Loop returns when ctx ends; work may
// cancel ctx.
func Loop(ctx context.Context, now func() time.Time, woken <-chan struct{}, work func(due bool) (next time.Time)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := false; ; {
		timer.Stop()
		next := work(due)
		if ctx.Err() != nil {
			return
		}
		if !next.IsZero() {
			timer.Reset(max(0, next.Sub(now())))
		}
		select {
		case <-ctx.Done():
			return
		case <-woken:
			due = false
		case <-timer.C:
			due = true
		}
	}
}

// Earlier returns the earlier of two times. Zero means never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Lifecycle records that an engine has read the store, and that it has ended. Its methods are safe for concurrent use.
type Lifecycle struct{ loaded, ended chan struct{} }

// NewLifecycle returns the lifecycle of an engine that has not read the store.
func NewLifecycle() Lifecycle { return Lifecycle{make(chan struct{}), make(chan struct{})} }

// SetLoaded records that the engine has read the store. It must be called at most once.
func (l Lifecycle) SetLoaded() { close(l.loaded) }

// SetEnded records that the engine has ended. It must be called at most once.
func (l Lifecycle) SetEnded() { close(l.ended) }

// Ended returns a channel that is closed when the engine has ended.
func (l Lifecycle) Ended() <-chan struct{} { return l.ended }

// ErrEnded means that the engine has ended. It matches client.ErrUnavailable.
var ErrEnded = fmt.Errorf("%w: the controller has stopped", client.ErrUnavailable)

// WaitLoaded waits until the engine has read the store. It returns ErrEnded if the engine ends first, and the cause of ctx if
// ctx ends first.
func (l Lifecycle) WaitLoaded(ctx context.Context) error {
	select {
	case <-l.loaded:
		return nil
	default:
	}
	select {
	case <-l.loaded:
		return nil
	case <-l.ended:
		return ErrEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// RetryFirst and RetryLongest are the shortest and the longest delay before a failed operation of the store is tried again.
const (
	RetryFirst   = 100 * time.Millisecond
	RetryLongest = 5 * time.Second
)

// Load calls read and returns its result. As long as the store is unavailable, it passes each error to the function failed and
// tries again. If ctx ends first, it returns the last error.
func Load[T any](ctx context.Context, read func(context.Context) (T, error), failed func(error)) (T, error) {
	for delay := retry.New(RetryFirst, RetryLongest); ; {
		got, err := read(ctx)
		if !errors.Is(err, client.ErrUnavailable) {
			return got, err
		}
		failed(err)
		if !delay.Wait(ctx) {
			return got, err
		}
	}
}
