package console

import (
	"context"
	"errors"
	"time"

	"gascity/internal/term"
)

// repaint is how long a program may take between the announced begin and the
// end of a repaint before its half-painted screen is judged.
const repaint = 100 * time.Millisecond

// watch follows the frames of a terminal.
type watch struct {
	t Terminal
	v view
}

// start takes the present frame.
func start(ctx context.Context, t Terminal) (*watch, error) {
	f, err := t.Frame(ctx, 0)
	if err != nil {
		return nil, err
	}
	w := &watch{t: t, v: look(f)}
	if f.Modes.Synchronized {
		_, err = w.next(ctx, repaint)
	}
	return w, err
}

// next waits up to d for a newer frame; changed is false if none came. The end
// of ctx is an error, the exit of the agent is not: see Frame.Exited.
func (w *watch) next(ctx context.Context, d time.Duration) (changed bool, err error) {
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
	w.v = look(f)
	return true, nil
}

func (w *watch) newer(ctx context.Context, d time.Duration) (Frame, bool, error) {
	if w.v.Exited {
		return Frame{}, false, nil
	}
	return w.after(ctx, w.v.Seq, d)
}

func (w *watch) after(ctx context.Context, seq uint64, d time.Duration) (Frame, bool, error) {
	if err := ctx.Err(); err != nil {
		return Frame{}, false, context.Cause(ctx)
	}
	if d <= 0 {
		return Frame{}, false, nil
	}
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	f, err := w.t.Frame(wait, seq)
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

// key sends one key by its name.
func (w *watch) key(ctx context.Context, name string) error {
	p, err := term.Key(name, w.v.Modes)
	if err != nil {
		return err
	}
	return w.t.Send(ctx, p)
}
