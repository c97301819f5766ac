package console

import (
	"context"
	"time"
)

// lease is the right to type without people's input coming in between.
type lease struct {
	t       Terminal
	release func() // nil: nothing is held
	since   time.Time
}

// leaseMargin is how much before its end a hold is no longer relied upon.
const leaseMargin = 300 * time.Millisecond

// renew makes sure that the lease holds for another moment. Where it had to let go for
// that, the frame is a new one, and what people typed meanwhile shows in it.
func (w *watch) renew(ctx context.Context, l *lease) error {
	holder, ok := l.t.(Holder)
	if !ok || l.release != nil && time.Since(l.since) < HoldLimit-leaseMargin {
		return nil
	}
	l.end()
	since := time.Now()
	release, err := holder.Hold(ctx)
	if err != nil {
		return err
	}
	l.release, l.since = release, since
	f, err := w.t.Frame(ctx, 0)
	if err == nil {
		w.v = look(f)
	}
	return err
}

func (l *lease) end() {
	if l.release != nil {
		l.release()
		l.release = nil
	}
}
