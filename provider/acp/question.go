package acp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/driver/shimdriver"
	"gascity/runtime"
)

// opTimeout bounds the operations of the contract that have no context.
const opTimeout = 30 * time.Second

func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), opTimeout) //nolint:forbidigo // the contract's method has no ctx
}

// Pending implements runtime.InteractionProvider.
func (p *Provider) Pending(name string) (*runtime.PendingInteraction, error) {
	ctx, cancel := bounded()
	defer cancel()
	l, err := p.Session(ctx, "read pending question of", name)
	if err != nil {
		return nil, err
	}
	state, err := clientOf(l).State(ctx, 0)
	if errors.Is(err, bridge.ErrNoHost) {
		return nil, nil //nolint:nilnil // nothing is asked before the handshake
	}
	return state.Pending, shimdriver.ErrorOf("read pending question of", name, err)
}

// Respond implements runtime.InteractionProvider. Beside the actions of that
// contract it knows bridge.ActionApproveAlways and bridge.ActionDenyAlways.
func (p *Provider) Respond(name string, response runtime.InteractionResponse) error {
	const op = "respond to"
	ctx, cancel := bounded()
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

// WaitForInterruptBoundary implements
// runtime.InterruptBoundaryWaitProvider: the agent's answer to a cancelled turn.
func (p *Provider) WaitForInterruptBoundary(ctx context.Context, name string, since time.Time, timeout time.Duration) error {
	return p.await(ctx, "confirm the interrupt of", name, timeout, func(s bridge.State) bool { return s.Boundary.After(since) })
}

// await waits for a state of the session.
func (p *Provider) await(ctx context.Context, op, name string, timeout time.Duration, is func(bridge.State) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not within %s: %w", timeout, context.DeadlineExceeded))
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond) // only for a host that is not there yet
	defer look.Stop()
	var seen uint64
	for {
		l, err := p.Session(ctx, op, name)
		if err != nil {
			return err
		}
		state, err := clientOf(l).State(ctx, seen)
		switch {
		case err == nil && is(state):
			return nil
		case err == nil:
			seen = state.Seq
			continue
		case ctx.Err() != nil:
			return &runtime.Error{Op: op, Session: name, Err: context.Cause(ctx)}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return &runtime.Error{Op: op, Session: name, Err: context.Cause(ctx)}
		}
	}
}
