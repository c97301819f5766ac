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

// Leased is a session's terminal for one delivery: what it does is in the journal of the
// shim, and nothing of it arrives when it is over.
type Leased struct {
	screen.Terminal
	lease *shim.Lease
}

var (
	_ inject.Lease  = (*Leased)(nil)
	_ screen.Holder = (*Leased)(nil)
)

// Lease takes the right to deliver into the session.
func (l Live) Lease(ctx context.Context) (*Leased, error) {
	lease, err := l.Client.Lease(ctx)
	if err != nil {
		return nil, gone(err)
	}
	return &Leased{l.Terminal, lease}, nil
}

// Close gives the right back.
func (t *Leased) Close() { t.lease.Close() }

// Send keeps the contract of screen.Terminal.
func (t *Leased) Send(ctx context.Context, p []byte) error { return gone(t.lease.Send(ctx, p)) }

// Hold keeps the contract of screen.Holder.
func (t *Leased) Hold(ctx context.Context) (release func(), err error) {
	release, err = t.lease.Hold(ctx)
	return release, gone(err)
}

// Begin keeps the contract of inject.Book.
func (t *Leased) Begin(ctx context.Context, id, text string, undo []byte) error {
	return gone(t.lease.Begin(ctx, id, text, undo))
}

// Type keeps the contract of inject.Book.
func (t *Leased) Type(ctx context.Context, in inputlog.Input, p []byte) error {
	return gone(t.lease.Type(ctx, in, p))
}

// Account keeps the contract of inject.Book.
func (t *Leased) Account(ctx context.Context, id string) (inputlog.Account, error) {
	a, err := t.lease.Account(ctx, id)
	return a, gone(err)
}

// Settle keeps the contract of inject.Book.
func (t *Leased) Settle(ctx context.Context, e inputlog.Entry) error {
	return gone(t.lease.Settle(ctx, e))
}

// gone puts console's errors in the place of the shim's. One that leaves open whether the
// shim did what it was asked matches [shim.ErrCut] still.
func gone(err error) error {
	switch {
	case errors.Is(err, shim.ErrCut):
		return fmt.Errorf("%w (%w)", screen.ErrExited, shim.ErrCut)
	case errors.Is(err, shim.ErrNone), errors.Is(err, shim.ErrExited):
		return screen.ErrExited
	}
	return err
}

// Settle keeps the contract of runtime.Settler.
func (s *Sessions) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	return inject.Patiently(ctx, func() (runtime.Outcome, error) { return s.settleOnce(ctx, name, d) })
}

// settleOnce asks with the session's input to itself.
func (s *Sessions) settleOnce(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
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

// Withdraw keeps the contract of runtime.Withdrawer.
func (s *Sessions) Withdraw(ctx context.Context, name string, d runtime.Delivery) (bool, error) {
	out, err := s.Settle(ctx, name, d)
	return err == nil && out.State == runtime.OutcomeRefused, err
}
