package shim

import (
	"context"
	"sync"
	"time"

	"gascity/internal/terminal/inject"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
)

// leasedTerminal is a lease: the right to deliver prompts into the terminal of one agent. It is granted to one holder at a time,
// which is code in this process, or a client of the previous release while its connection is open. The lease ends when the holder
// has ended it and all its input is written. Later input is refused, so no input of a client that crashed can arrive late. After
// the agent has exited or was replaced, its frames say that the agent has exited, and no input is written.
type leasedTerminal struct {
	host   *host
	run    *run
	number uint64
	begin  func(context.Context) error // called before a delivery is recorded; nil if nothing is to be done
	done   chan struct{}               // closed when the next lease may be granted

	ended    bool           // further requests are refused; guarded by the host's mu
	requests sync.WaitGroup // requests in progress of a client
	hold     *hold          // delays what people type; guarded by the host's mu
}

var (
	_ inject.Lease       = (*leasedTerminal)(nil)
	_ inject.SeenJournal = (*leasedTerminal)(nil)
	_ screen.Holder      = (*leasedTerminal)(nil)
)

// leaseTerminal waits until no other holder has the right to deliver prompts and acquires it for the agent that runs at the
// call. The caller must call close.
func (h *host) leaseTerminal(ctx context.Context) (*leasedTerminal, error) {
	h.mu.Lock()
	run := h.run
	h.mu.Unlock()
	t, err := h.acquireLease(ctx)
	if err != nil {
		return nil, endReason(ctx)
	}
	t.run = run
	return t, nil
}

// endReason returns why ctx has ended, or that the agent has exited if ctx has not ended.
func endReason(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return screen.ErrExited
}

// goneLocked reports whether the agent has exited or was replaced.
func (t *leasedTerminal) goneLocked() bool {
	return t.host.exit != nil || t.host.run != t.run || t.ended
}

// Frame implements screen.Terminal.
func (t *leasedTerminal) Frame(ctx context.Context, after uint64) (screen.Frame, error) {
	h := t.host
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.seq <= after && !t.goneLocked() {
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		h.mu.Lock()
		if err := ctx.Err(); err != nil {
			return screen.Frame{}, err
		}
	}
	display, ok := h.screen()
	if !ok || h.run != t.run {
		return screen.Frame{Seq: h.seq, Exited: true}, nil
	}
	line, signs := t.run.streams.LineState(), h.signsLocked()
	return screen.Frame{
		Seq: h.seq, Rows: display.Rows(), Cursor: display.Cursor(), Modes: display.Modes(), Title: h.title,
		Signs: signs, Cells: display.Cells(),
		Line: line.Line, Input: line.Input, Lines: line.Lines, Silent: line.Silent,
		LastOutput: h.lastOutput, LastHuman: h.lastHuman, Attached: h.attachedLocked(), Exited: t.goneLocked(),
	}, nil
}

// Screen returns the frame of a terminal for package screen. It needs an emulator, because the frame has the screen as output.
func (f Frame) Screen() screen.Frame {
	if f.Cols == 0 {
		return screen.Frame{Seq: f.Seq, Rows: f.Lines, LastOutput: f.LastOutput, Exited: f.Exited}
	}
	display := vt.New(f.Cols, f.Rows, &vt.Options{Scrollback: -1})
	display.Write(f.Redraw)
	return screen.Frame{
		Seq: f.Seq, Rows: display.Rows(), Cursor: display.Cursor(), Modes: display.Modes(), Title: f.Title,
		Signs: f.Signs, Cells: display.Row,
		Line: f.Line, Input: f.Input, Lines: f.Cooked, Silent: f.Silent,
		LastOutput: f.LastOutput, LastHuman: f.LastHuman, Attached: f.Attached, Exited: f.Exited,
	}
}

// Send implements screen.Terminal.
func (t *leasedTerminal) Send(ctx context.Context, p []byte) error {
	return t.Type(ctx, inject.InputKeys, p)
}

// Type implements inject.Journal.
func (t *leasedTerminal) Type(ctx context.Context, in inject.Input, p []byte) error {
	return t.TypeSeen(ctx, 0, in, p)
}

// TypeSeen implements inject.SeenJournal; seen may be zero for any frame.
func (t *leasedTerminal) TypeSeen(ctx context.Context, seen uint64, in inject.Input, p []byte) error {
	h := t.host
	if !h.spec.Terminal { // a partial line in a pipe would be joined with the next line
		ctx = h.ctx
	}
	_, err := t.run.input.WriteNext(ctx, func() ([]byte, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if t.goneLocked() {
			return nil, screen.ErrExited
		}
		return p, h.recordInputLocked(in, p, seen)
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.extendLocked(t.hold)
	return err
}

// Hold implements screen.Holder. The hold ends when release is called, or when nothing was typed for HoldLimit.
func (t *leasedTerminal) Hold(ctx context.Context) (release func(), err error) {
	h := t.host
	held, err := h.acquireHold(ctx)
	if err != nil {
		return nil, endReason(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.ended {
		h.releaseHoldLocked(held)
		return nil, screen.ErrExited
	}
	t.hold = held
	held.timer = time.AfterFunc(HoldLimit, func() { h.releaseHold(held) })
	return func() { h.releaseHold(held) }, nil
}

// Begin implements inject.Journal.
func (t *leasedTerminal) Begin(ctx context.Context, id, text string, undo []byte) error {
	if t.begin != nil {
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	if t.goneLocked() {
		return screen.ErrExited
	}
	t.host.deliveries.Begin(id, []byte(text), undo)
	return nil
}

// Account implements inject.Journal.
func (t *leasedTerminal) Account(_ context.Context, id string) (inject.DeliveryAccount, error) {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	return t.host.deliveries.Account(id), nil
}

// RecordOutcome implements inject.Journal.
func (t *leasedTerminal) RecordOutcome(_ context.Context, e inject.DeliveryEntry) error {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	if !t.host.deliveries.RecordOutcome(e) {
		return inject.ErrNoDelivery
	}
	return nil
}
