package screen

import (
	"context"
	"errors"
	"time"

	"gascity/internal/terminal/vt"
)

// repaint is the longest wait for the end of a synchronized update before the half-drawn screen is used.
const repaint = 100 * time.Millisecond

// Watcher reads the frames of a terminal, and can hold people's keys while gc types. It is for one goroutine.
type Watcher struct {
	Terminal Terminal
	Snapshot Snapshot // of the last frame

	release func() // ends the hold; nil if there is none
	since   time.Time
}

// NewWatcher returns a Watcher with the current frame.
func NewWatcher(ctx context.Context, t Terminal) (*Watcher, error) {
	w := &Watcher{Terminal: t}
	if err := w.Refresh(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// Read reads the current frame, also during a synchronized update.
func (w *Watcher) Read(ctx context.Context) error {
	f, err := w.Terminal.Frame(ctx, 0)
	if err == nil {
		w.Snapshot = NewSnapshot(f)
	}
	return err
}

// Refresh is Read that waits for the end of a synchronized update.
func (w *Watcher) Refresh(ctx context.Context) error {
	err := w.Read(ctx)
	if err == nil && w.Snapshot.Modes.Synchronized {
		_, err = w.Next(ctx, repaint)
	}
	return err
}

// Next waits up to d for a newer frame and reads it; changed is false if there was none. If ctx ends, Next returns an error.
// The exit of the agent is no error: see Frame.Exited.
func (w *Watcher) Next(ctx context.Context, d time.Duration) (changed bool, err error) {
	if w.Snapshot.Exited {
		return false, nil
	}
	f, ok, err := w.after(ctx, w.Snapshot.Seq, d)
	if err != nil || !ok {
		return false, err
	}
	for end := time.Now().Add(repaint); f.Modes.Synchronized && !f.Exited; {
		g, ok, err := w.after(ctx, f.Seq, time.Until(end))
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		f = g
	}
	w.Snapshot = NewSnapshot(f)
	return true, nil
}

// after waits up to d for a frame with a sequence number greater than seq; false if there is none.
func (w *Watcher) after(ctx context.Context, seq uint64, d time.Duration) (Frame, bool, error) {
	if err := ctx.Err(); err != nil {
		return Frame{}, false, context.Cause(ctx)
	}
	if d <= 0 {
		return Frame{}, false, nil
	}
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	f, err := w.Terminal.Frame(wait, seq)
	switch {
	case err == nil:
		return f, f.Seq > seq || f.Exited, nil
	case ctx.Err() != nil:
		return Frame{}, false, context.Cause(ctx)
	case wait.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		return Frame{}, false, nil
	default:
		return Frame{}, false, err
	}
}

// Key sends one key by its name.
func (w *Watcher) Key(ctx context.Context, name string) error {
	p, err := vt.Key(name, w.Snapshot.Modes)
	if err != nil {
		return err
	}
	return w.Terminal.Send(ctx, p)
}

// holdMargin is the time before the end of a hold in which Hold begins a new one.
const holdMargin = 300 * time.Millisecond

// Hold ensures that people's keys are held for at least holdMargin more, or until Release, if the terminal is a [Holder]. If
// it must end an old hold and begin a new one, it reads a new frame, which shows what people have typed in between.
func (w *Watcher) Hold(ctx context.Context) error {
	holder, ok := w.Terminal.(Holder)
	if !ok || w.release != nil && time.Since(w.since) < w.maxHold()-holdMargin {
		return nil
	}
	w.Release()
	since := time.Now()
	release, err := holder.Hold(ctx)
	if err != nil || release == nil {
		return err
	}
	w.release, w.since = release, since
	return w.Read(ctx)
}

// maxHold returns the longest duration of the current hold.
func (w *Watcher) maxHold() time.Duration {
	if holder, ok := w.Terminal.(LimitedHolder); ok {
		return holder.MaxHold()
	}
	return HoldLimit
}

// Renew replaces a hold that has used half of its time by a new one, before input that must not be interrupted. The frame
// then shows what people have typed in between.
func (w *Watcher) Renew(ctx context.Context) error {
	if w.release == nil || time.Since(w.since) < w.maxHold()/2 {
		return nil
	}
	w.Release()
	return w.Hold(ctx)
}

// Release ends the hold, if there is one, so the held keys go to the program.
func (w *Watcher) Release() {
	if w.release != nil {
		w.release()
		w.release = nil
	}
}
