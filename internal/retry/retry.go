// Package retry computes and waits for the delays between the tries of an operation that may fail, or that must be repeated
// until it has a result. It also limits the rate of events.
package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// jitter is the part by which a delay varies at random, so that several programs do not try again at the same moment.
const jitter = 0.2

// Backoff computes growing delays. It is not safe for concurrent use.
type Backoff struct{ delays backoff.ExponentialBackOff }

// New returns a Backoff whose first delay is first. Each further delay is twice the delay before it, at most longest. Each
// delay varies at random by up to 20%.
func New(first, longest time.Duration) *Backoff {
	return &Backoff{backoff.ExponentialBackOff{InitialInterval: first, MaxInterval: longest, Multiplier: 2, RandomizationFactor: jitter}}
}

// Next returns the next delay.
func (b *Backoff) Next() time.Duration { return b.delays.NextBackOff() }

// Reset makes the next delay the first one again.
func (b *Backoff) Reset() { b.delays.Reset() }

// Wait waits for the next delay. It returns false if ctx ends first.
func (b *Backoff) Wait(ctx context.Context) bool { return Sleep(ctx, b.Next()) }

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
