package acp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/driver"
	"gascity/internal/driver/shimdriver"
	"gascity/internal/retry"
	"gascity/runtime"
)

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	l, err := p.Session(ctx, "read pending question of", name)
	if err != nil {
		return nil, err
	}
	state, err := clientOf(l).State(ctx, 0)
	if errors.Is(err, bridge.ErrNoHost) {
		return nil, nil //nolint:nilnil // there is no question before the handshake
	}
	return state.Pending, shimdriver.ErrorOf("read pending question of", name, err)
}

// Respond implements runtime.InteractionProvider. In addition to the actions of the contract it
// accepts bridge.ActionApproveAlways and bridge.ActionDenyAlways.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	const op = "respond to"
	ctx, cancel := driver.CallContext()
	defer cancel()
	l, err := p.Session(ctx, op, name)
	if err != nil {
		return err
	}
	err = clientOf(l).Respond(ctx, response)
	if errors.Is(err, bridge.ErrNoHost) || errors.Is(err, runtime.ErrStaleInstance) {
		err = runtime.ErrInteractionGone
	}
	return shimdriver.ErrorOf(op, name, err)
}

// WaitForIdle implements runtime.IdleWaitProvider.
func (p *Provider) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	return p.await(ctx, "wait for idle", name, timeout, func(s bridge.State) bool { return s.Activity == runtime.ActivityIdle })
}

// WaitForInterruptBoundary implements runtime.InterruptBoundaryWaitProvider. It waits for the
// agent's answer to a cancelled turn.
func (p *Provider) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	return p.await(ctx, "confirm the interrupt of", name, timeout, func(s bridge.State) bool { return s.Boundary.After(since) })
}

// hostRetry is the pause between tries if the host does not answer yet.
const hostRetry = 50 * time.Millisecond

// await waits until the function matches returns true for the session's state. It returns an error after timeout.
func (p *Provider) await(ctx context.Context, op, name string, timeout time.Duration, matches func(bridge.State) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s: %w", timeout, context.DeadlineExceeded))
	defer cancel()
	var seen uint64
	for {
		l, err := p.Session(ctx, op, name)
		if err != nil {
			return err
		}
		state, err := clientOf(l).State(ctx, seen)
		switch {
		case err == nil && matches(state):
			return nil
		case err == nil:
			seen = state.Seq
			continue
		case ctx.Err() != nil:
			return &runtime.Error{Op: op, Session: name, Err: context.Cause(ctx)}
		}
		if !retry.Sleep(ctx, hostRetry) {
			return &runtime.Error{Op: op, Session: name, Err: context.Cause(ctx)}
		}
	}
}
