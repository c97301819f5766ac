package inject

import (
	"context"
	"sync"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/test/terminal"
)

// fakeLease is a Lease over a fake terminal, as a shim is one: it keeps people's input back, and
// notes and sends in one step.
type fakeLease struct {
	*terminal.Fake

	turn sync.Mutex // whose input is sent
	book DeliveryLog

	mu      sync.Mutex
	held    chan struct{} // closed when the hold is over; nil if nothing is held back
	end     *time.Timer
	waiting int

	step func() // before each step of the deliverer
}

var (
	_ Lease         = (*fakeLease)(nil)
	_ screen.Holder = (*fakeLease)(nil)
)

func newFakeLease(f *terminal.Fake) *fakeLease { return &fakeLease{Fake: f, step: func() {}} }

func (d *fakeLease) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	d.step()
	return d.Fake.Frame(ctx, after)
}

func (d *fakeLease) Send(ctx context.Context, p []byte) error { return d.Type(ctx, InputKeys, p) }

func (d *fakeLease) Type(ctx context.Context, in Input, p []byte) error {
	d.step()
	d.turn.Lock()
	defer d.turn.Unlock()
	if err := d.book.Send(in, p); err != nil {
		return err
	}
	d.mu.Lock()
	if d.held != nil {
		d.end.Reset(screen.HoldLimit)
	}
	d.mu.Unlock()
	return d.Fake.Send(ctx, p)
}

func (d *fakeLease) Begin(_ context.Context, id, text string, undo []byte) error {
	d.step()
	d.turn.Lock()
	defer d.turn.Unlock()
	d.book.Begin(id, []byte(text), undo)
	return nil
}

func (d *fakeLease) Account(_ context.Context, id string) (DeliveryAccount, error) {
	d.step()
	d.turn.Lock()
	defer d.turn.Unlock()
	return d.book.Account(id), nil
}

func (d *fakeLease) RecordOutcome(_ context.Context, e DeliveryEntry) error {
	d.step()
	d.turn.Lock()
	defer d.turn.Unlock()
	if !d.book.RecordOutcome(e) {
		return ErrNoDelivery
	}
	return nil
}

func (d *fakeLease) Hold(context.Context) (release func(), err error) {
	d.step()
	for {
		d.mu.Lock()
		if d.held == nil && d.waiting == 0 {
			break
		}
		d.mu.Unlock()
		<-time.After(time.Millisecond)
	}
	defer d.mu.Unlock()
	held := make(chan struct{})
	release = func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.held == held {
			d.held = nil
			close(held)
		}
	}
	d.held, d.end = held, time.AfterFunc(screen.HoldLimit, release)
	return release, nil
}

// person presses keys as a person at an attached terminal.
func (d *fakeLease) person(keys string) {
	d.mu.Lock()
	d.waiting++
	for d.held != nil {
		held := d.held
		d.mu.Unlock()
		<-held
		d.mu.Lock()
	}
	d.mu.Unlock()
	d.turn.Lock()
	defer d.turn.Unlock()
	undo := d.book.Touch()
	d.Set(func(fr *screen.Frame) { fr.LastHuman, fr.Attached = time.Now(), 1 })
	d.Program(append(undo, keys...))
	d.mu.Lock()
	d.waiting--
	d.mu.Unlock()
}
