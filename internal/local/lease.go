package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/internal/shim"
	"gascity/runtime"
)

// Leased is a session's terminal for one delivery: what it does is in the journal of the
// shim, and nothing of it arrives when it is over.
type Leased struct {
	console.Terminal
	Lease *shim.Lease
	ID    string // of the delivery
	Last  string // of the one before it, while that is resolved
}

var (
	_ console.Terminal = (*Leased)(nil)
	_ console.Holder   = (*Leased)(nil)
	_ console.Journal  = (*Leased)(nil)
	_ console.Prober   = (*Leased)(nil)
)

// Lease takes the right to deliver into the session.
func (l Live) Lease(ctx context.Context) (*Leased, error) {
	lease, err := l.Client.Lease(ctx)
	if err != nil {
		return nil, gone(err)
	}
	return &Leased{Terminal: l.Terminal, Lease: lease, ID: l.Delivery}, nil
}

// Close gives the right back.
func (t *Leased) Close() { t.Lease.Close() }

// Send keeps the contract of console.Terminal.
func (t *Leased) Send(ctx context.Context, p []byte) error { return gone(t.Lease.Send(ctx, p)) }

// Hold keeps the contract of console.Holder.
func (t *Leased) Hold(ctx context.Context) (release func(), err error) {
	release, err = t.Lease.Hold(ctx)
	return release, gone(err)
}

// Begin keeps the contract of console.Journal.
func (t *Leased) Begin(ctx context.Context, text string, undo []byte) error {
	return gone(t.Lease.Begin(ctx, t.ID, text, undo))
}

// Enter keeps the contract of console.Journal.
func (t *Leased) Enter(ctx context.Context, p []byte) error {
	return gone(t.Lease.Type(ctx, journal.Enter, p))
}

// EnterSeen keeps the contract of console.Journal.
func (t *Leased) EnterSeen(ctx context.Context, p []byte) error {
	return gone(t.Lease.Type(ctx, journal.Seen, p))
}

// Probe keeps the contract of console.Prober.
func (t *Leased) Probe(ctx context.Context, p []byte) error {
	return gone(t.Lease.Type(ctx, journal.Probe, p))
}

// Found keeps the contract of console.Prober.
func (t *Leased) Found(ctx context.Context, v console.Verdict) error {
	e := shim.Entry{ID: t.Last, Outcome: string(v), Open: true}
	if v == console.Taken {
		e.Evidence = TakenEvidence
	}
	return gone(t.Lease.Settle(ctx, e))
}

// TakenEvidence is the evidence of a text that was in the input line before Enter, and was
// not any more after it.
const TakenEvidence = "composer_emptied"

// gone puts console's errors in the place of the shim's. One that leaves open whether the
// shim did what it was asked matches [shim.ErrCut] still.
func gone(err error) error {
	switch {
	case errors.Is(err, shim.ErrCut):
		return fmt.Errorf("%w (%w)", console.ErrExited, shim.ErrCut)
	case errors.Is(err, shim.ErrNone), errors.Is(err, shim.ErrExited):
		return console.ErrExited
	case errors.Is(err, shim.ErrTouched):
		return console.ErrTouched
	}
	return err
}

// deliveryID is the name of a delivery in the journal: its own, or its text's.
func deliveryID(id, text string) string {
	if id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(text))
	return "text " + hex.EncodeToString(sum[:])
}

const (
	// settleLimit is how long it is tried to tell what became of a delivery, settleAgain
	// how long the input is left to others in between: a dialog that is in the way may
	// be answered, a person stop typing.
	settleLimit = 15 * time.Second
	settleAgain = 200 * time.Millisecond
)

// Settle keeps the contract of runtime.Settler.
func (s *Sessions) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	for end := time.Now().Add(settleLimit); ; {
		out, err := s.settleOnce(ctx, name, d)
		if err != nil || out.State != runtime.OutcomeUnconfirmed || out.Reason == "" || time.Now().After(end) {
			return out, err
		}
		again := time.NewTimer(settleAgain)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return out, nil
		}
	}
}

// settleOnce asks with the session's input to itself.
func (s *Sessions) settleOnce(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	var token *string
	if d.Instance != "" {
		token = &d.Instance
	}
	out := runtime.Outcome{State: runtime.OutcomeUnconfirmed}
	err := s.Drive(ctx, "settle a prompt of", name, token, func(l Live) (err error) {
		text := ""
		if d.ID == "" {
			if text, err = PromptText(d.Content); err != nil {
				return err
			}
		}
		l.Delivery = deliveryID(d.ID, text)
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

// Account is the outcome of a delivery by the journal alone; ok is false if its text may
// still be in the input line or on its way there.
func Account(j shim.Account) (out runtime.Outcome, ok bool) {
	e := j.Asked
	switch {
	case e == nil && j.Forgot:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "too long ago: the session does not remember it"}, true
	case e == nil:
		return WithdrawnOutcome("not a byte of it was sent"), true
	case e.Outcome == shim.OutcomeWithdrawn:
		return WithdrawnOutcome("it was taken out of the input line"), true
	case e.Outcome == string(runtime.OutcomeSubmitted):
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: e.Evidence}, true
	case !e.Open:
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "Enter was pressed, and nothing tells what came of it"}, true
	}
	return runtime.Outcome{}, false
}

// WithdrawnOutcome is the outcome of a text that the agent provably never took.
func WithdrawnOutcome(why string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Detail: why}
}
