package screen

import (
	"context"
	"errors"
	"time"

	"gascity/internal/terminal/vt"
)

// repaint is how long a program may take between the announced begin and the
// end of a repaint before its half-painted screen is judged.
const repaint = 100 * time.Millisecond

// Watcher follows the frames of a terminal, and holds people's input back while something
// is typed. It is for one goroutine.
type Watcher struct {
	Terminal Terminal
	Snapshot Snapshot // of the frame that was taken last

	release func() // nil: nothing is held
	since   time.Time
}

// NewWatcher takes the present frame.
func NewWatcher(ctx context.Context, t Terminal) (*Watcher, error) {
	w := &Watcher{Terminal: t}
	if err := w.Refresh(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// Refresh takes the present frame.
func (w *Watcher) Refresh(ctx context.Context) error {
	f, err := w.Terminal.Frame(ctx, 0)
	if err != nil {
		return err
	}
	w.Snapshot = NewSnapshot(f)
	if f.Modes.Synchronized {
		_, err = w.Next(ctx, repaint)
	}
	return err
}

// Next waits up to d for a newer frame; changed is false if none came. The end
// of ctx is an error, the exit of the agent is not: see Frame.Exited.
func (w *Watcher) Next(ctx context.Context, d time.Duration) (changed bool, err error) {
	f, ok, err := w.newer(ctx, d)
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

func (w *Watcher) newer(ctx context.Context, d time.Duration) (Frame, bool, error) {
	if w.Snapshot.Exited {
		return Frame{}, false, nil
	}
	return w.after(ctx, w.Snapshot.Seq, d)
}

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

// holdMargin is how much before its end a hold is no longer relied upon.
const holdMargin = 300 * time.Millisecond

// Hold ensures that people's input is kept back for another moment, until Release, by
// a terminal that can: see [Holder]. Where it had to be let through for that, the frame
// is a new one, and what people typed meanwhile shows in it.
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
	f, err := w.Terminal.Frame(ctx, 0)
	if err == nil {
		w.Snapshot = NewSnapshot(f)
	}
	return err
}

// maxHold returns how long the present hold lasts.
func (w *Watcher) maxHold() time.Duration {
	if keeper, ok := w.Terminal.(LimitedHolder); ok {
		return keeper.MaxHold()
	}
	return HoldLimit
}

// Renew begins a hold that has lasted for a while again, before something is typed that must
// not be interrupted halfway. What people typed meanwhile shows in the frame.
func (w *Watcher) Renew(ctx context.Context) error {
	if w.release == nil || time.Since(w.since) < w.maxHold()/2 {
		return nil
	}
	w.Release()
	return w.Hold(ctx)
}

// Release lets people's input through that was kept back, if any is.
func (w *Watcher) Release() {
	if w.release != nil {
		w.release()
		w.release = nil
	}
}
