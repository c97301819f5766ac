package screen

import (
	"context"
	"fmt"
	"time"

	"gascity/runtime"
)

// Idle waits until the agent has been idle for 200 ms: its prompt is on the screen, and no sign of a turn or dialog. After
// timeout it returns an error that matches [context.DeadlineExceeded] and contains the last activity. It returns [ErrExited]
// if the agent has exited.
func Idle(ctx context.Context, t Terminal, rules Rules, timeout time.Duration) error {
	end := time.Now().Add(timeout)
	w, err := NewWatcher(ctx, t)
	if err != nil {
		return err
	}
	var since time.Time // the time since when the agent has been idle
	for {
		if w.Snapshot.Exited {
			return ErrExited
		}
		a := w.Snapshot.activity(rules)
		switch {
		case a.Activity != runtime.ActivityIdle && a.Activity != runtime.ActivityReady:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case a.Activity == runtime.ActivityIdle && time.Since(since) >= flowing:
			return nil // a clock on the screen does not make it busy
		}
		left := time.Until(end)
		wait := left
		if !since.IsZero() {
			wait = min(left, flowing)
		}
		changed, err := w.Next(ctx, wait)
		switch {
		case err != nil:
			return err
		case changed:
		case !since.IsZero() && left >= flowing:
			return nil
		case time.Until(end) <= 0:
			return fmt.Errorf("agent is %s (%s) after %s: %w", a.Activity, a.Detail, timeout, context.DeadlineExceeded)
		}
	}
}
