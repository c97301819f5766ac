package shimdriver

import (
	"context"
	"errors"
	"fmt"

	"gascity/internal/overlay"
	"gascity/internal/shim"
	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// Leased is a session's terminal for one delivery. The shim records its input in the journal. After the lease has ended, no
// more of its input can arrive.
type Leased struct {
	screen.Terminal
	lease *shim.Lease
}

var (
	_ inject.Lease       = (*Leased)(nil)
	_ inject.SeenJournal = (*Leased)(nil)
	_ screen.Holder      = (*Leased)(nil)
)

// Lease acquires the right to deliver prompts to the session.
func (l Live) Lease(ctx context.Context) (*Leased, error) {
	lease, err := l.Client.Lease(ctx)
	if err != nil {
		return nil, translateExit(err)
	}
	return &Leased{l.Terminal, lease}, nil
}

// Close releases the right.
func (t *Leased) Close() { t.lease.Close() }

// Send implements screen.Terminal.
func (t *Leased) Send(ctx context.Context, p []byte) error {
	return translateExit(t.lease.Send(ctx, p))
}

// Hold implements screen.Holder.
func (t *Leased) Hold(ctx context.Context) (release func(), err error) {
	release, err = t.lease.Hold(ctx)
	return release, translateExit(err)
}

// Begin implements inject.Journal.
func (t *Leased) Begin(ctx context.Context, id, text string, undo []byte) error {
	return translateExit(t.lease.Begin(ctx, id, text, undo))
}

// Type implements inject.Journal.
func (t *Leased) Type(ctx context.Context, in inputlog.Input, p []byte) error {
	return translateExit(t.lease.Type(ctx, in, p))
}

// TypeSeen implements inject.SeenJournal.
func (t *Leased) TypeSeen(ctx context.Context, seen uint64, in inputlog.Input, p []byte) error {
	return translateExit(t.lease.TypeSeen(ctx, seen, in, p))
}

// Account implements inject.Journal.
func (t *Leased) Account(ctx context.Context, id string) (inputlog.Account, error) {
	a, err := t.lease.Account(ctx, id)
	return a, translateExit(err)
}

// RecordOutcome implements inject.Journal.
func (t *Leased) RecordOutcome(ctx context.Context, e inputlog.Entry) error {
	return translateExit(t.lease.RecordOutcome(ctx, e))
}

// translateExit replaces the shim's errors about an exit by [screen.ErrExited]. If it is unknown whether the shim carried out
// the request, the result also matches [shim.ErrDisconnected].
func translateExit(err error) error {
	switch {
	case errors.Is(err, shim.ErrDisconnected):
		return fmt.Errorf("%w (%w)", screen.ErrExited, shim.ErrDisconnected)
	case errors.Is(err, shim.ErrNoShim), errors.Is(err, shim.ErrExited):
		return screen.ErrExited
	}
	return err
}

// Settle implements runtime.Settler.
func (s *Sessions) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return inject.RetryUntilKnown(ctx, func() (runtime.Outcome, error) { return s.resolveOnce(ctx, name, d) })
}

// resolveOnce asks once for the outcome of a delivery, with the session's input locked.
func (s *Sessions) resolveOnce(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	var token *string
	if d.Instance != "" {
		token = &d.Instance
	}
	out := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	err := s.Drive(ctx, "settle a prompt of", name, token, func(l Live) (err error) {
		var m overlay.Message
		if d.ID == "" {
			if m, err = overlay.MessageOf(d.Content); err != nil {
				return err
			}
		}
		l.Delivery = inputlog.ID(d.ID, m.Text)
		out, err = s.settle(ctx, l)
		return err
	})
	return out, err
}

// Withdraw implements runtime.Withdrawer.
func (s *Sessions) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	out, err := s.Settle(ctx, name, d)
	return err == nil && out.State == runtime.OutcomeRefused, err
}
