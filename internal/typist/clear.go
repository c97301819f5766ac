package typist

import (
	"cmp"
	"context"
	"time"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/internal/term"
)

const (
	// clearEffect is how long a clear key may take to show.
	clearEffect = 750 * time.Millisecond
	// maxClear bounds how often it is pressed: some programs clear one row at a
	// time.
	maxClear = 200
)

// clearKey presses the clear key, which deletes nothing that was typed since the account
// was read.
func (to target) clearKey(ctx context.Context, v console.View, rules console.Rules) error {
	p, err := clearing(v, rules)
	if err != nil {
		return err
	}
	return to.input(ctx, journal.Clear, p)
}

// clearing are the keys that empty the input line.
func clearing(v console.View, rules console.Rules) ([]byte, error) {
	end, err := ending(v, rules)
	if err != nil {
		return nil, err
	}
	key, err := term.Key(rules.Screen.ClearKey, v.Modes)
	return append(end, key...), err
}

// ending is the key that moves behind what the input line holds, if one is needed.
func ending(v console.View, rules console.Rules) ([]byte, error) {
	if rules.Screen.EndKey == "" {
		return nil, nil
	}
	return term.Key(rules.Screen.EndKey, v.Modes)
}

// emptyLine presses the clear key until the input line c is empty, the key shows
// no effect twice, or a person types.
func (to target) emptyLine(ctx context.Context, w *console.Watch, rules console.Rules, c console.Composer) error {
	human, idle := w.View.LastHuman, 0
	for range maxClear {
		before := c.Content
		if err := to.clearKey(ctx, w.View, rules); err != nil {
			return err
		}
		for end := time.Now().Add(clearEffect); c.Content == before; {
			changed, err := w.Next(ctx, time.Until(end))
			if err != nil {
				return err
			}
			if w.View.Exited || w.View.LastHuman.After(human) {
				return nil
			}
			if c = w.View.Composer(rules.Screen.Composer); !changed {
				break
			}
		}
		if idle++; c.Content != before {
			idle = 0
		}
		if c.Empty() || !c.Found || idle == 2 {
			return nil
		}
	}
	return nil
}

// unechoed is how long the last key of a person who has left may take to show.
const unechoed = 500 * time.Millisecond

// humanActive reports whether a person typed a moment ago.
func humanActive(v console.View, rules console.Rules, now time.Time) bool {
	quiet := cmp.Or(rules.HumanQuiet, console.DefaultHumanQuiet)
	if v.Attached == 0 {
		quiet = min(quiet, unechoed)
	}
	return !v.LastHuman.IsZero() && now.Sub(v.LastHuman) < quiet
}
