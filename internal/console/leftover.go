package console

import (
	"context"
	"time"
)

const (
	// clearEffect is how long a clear key may take to show.
	clearEffect = 750 * time.Millisecond
	// maxClear bounds how often it is pressed: some programs clear one row at a
	// time.
	maxClear = 200
)

// emptyLine presses the clear key until the input line c is empty, the key shows
// no effect twice, or a person types.
func (w *watch) emptyLine(ctx context.Context, rules Rules, c composer) error {
	human, idle := w.v.LastHuman, 0
	for range maxClear {
		before := c.content
		if err := w.key(ctx, rules.Screen.ClearKey); err != nil {
			return err
		}
		for end := time.Now().Add(clearEffect); c.content == before; {
			changed, err := w.next(ctx, time.Until(end))
			if err != nil {
				return err
			}
			if w.v.Exited || w.v.LastHuman.After(human) {
				return nil
			}
			if c = w.v.readComposer(rules.Screen.Composer); !changed {
				break
			}
		}
		if idle++; c.content != before {
			idle = 0
		}
		if empty(c) || !c.found || idle == 2 {
			return nil
		}
	}
	return nil
}

// unechoed is how long the last key of a person who has left may take to show.
const unechoed = 500 * time.Millisecond

// humanActive reports whether a person typed a moment ago.
func (v view) humanActive(rules Rules, now time.Time) bool {
	quiet := rules.humanQuiet()
	if v.Attached == 0 {
		quiet = min(quiet, unechoed)
	}
	return !v.LastHuman.IsZero() && now.Sub(v.LastHuman) < quiet
}
