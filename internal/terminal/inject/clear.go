package inject

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
)

const (
	// clearEffect is how long a program may take to show the effect of keys that remove text.
	clearEffect = 750 * time.Millisecond
	// clearLimit bounds how long text is removed from an input box.
	clearLimit = 8 * time.Second
	// maxIdle is how many rounds without an effect are tried at least.
	maxIdle = 3
	// minPairs is how many lines one piece of input removes in the end, and maxPairs bounds that
	// where a longer text may be in the box.
	minPairs = 64
	maxPairs = 512
	// maxBackspaces bounds how many characters are removed by one piece of input.
	maxBackspaces = 2048
)

// backspace is the key that removes the character before the cursor.
const backspace = "\x7f"

// clearKey presses the clear key, which deletes nothing that was typed since the account
// was read.
func (to target) clearKey(ctx context.Context, v screen.Snapshot, rules screen.Rules) error {
	p, err := clearing(v, rules)
	if err != nil {
		return err
	}
	return to.input(ctx, inputlog.Clear, p)
}

// clearing returns the keys that empty the input box.
func clearing(v screen.Snapshot, rules screen.Rules) ([]byte, error) {
	end, err := ending(v, rules)
	if err != nil {
		return nil, err
	}
	key, err := vt.Key(rules.Screen.ClearKey, v.Modes)
	return append(end, key...), err
}

// ending returns the key that moves behind what the input box holds, if one is needed.
func ending(v screen.Snapshot, rules screen.Rules) ([]byte, error) {
	if rules.Screen.EndKey == "" {
		return nil, nil
	}
	return vt.Key(rules.Screen.EndKey, v.Modes)
}

// emptyLine removes what the input box c holds, which may be all of text: by the clear key, and
// where that removes one line or nothing, by backspaces too. It stops when the box is empty,
// when keys that would have removed all of text have no effect, when a person types, or after
// clearLimit.
func (to target) emptyLine(ctx context.Context, w *screen.Watcher, rules screen.Rules, c screen.InputBox, text string) error {
	human, idle, pairs := w.Snapshot.LastHuman, 0, 0
	lines, chars := rowsOf(text), utf8.RuneCountInString(text) // no keys have been sent for yet
	if rules.Screen.ClearKey == "" {
		lines = 0
	}
	for end := time.Now().Add(clearLimit); time.Now().Before(end); {
		before := boxText(w.Snapshot, c)
		keys, err := removing(w.Snapshot, rules, pairs, idle > 0, max(chars, utf8.RuneCountInString(c.Content)))
		if err != nil {
			return err
		}
		lines, chars = lines-pairs, chars-bytes.Count(keys, []byte(backspace))
		if err := to.input(ctx, inputlog.Clear, keys); err != nil {
			return err
		}
		if c, err = awaitEffect(ctx, w, rules, before, end); err != nil {
			return err
		}
		if w.Snapshot.Exited || w.Snapshot.LastHuman.After(human) || c.Empty() {
			return nil
		}
		if idle++; boxText(w.Snapshot, c) != before {
			idle = 0
		}
		if idle >= maxIdle && pairs >= minPairs && lines <= 0 && chars <= 0 {
			return nil // rows that look alike may hide an effect until the last of them has gone
		}
		pairs = min(max(1, 4*pairs), max(minPairs, min(lines, maxPairs)))
	}
	return nil
}

// removing returns the keys of one round: the clear key, then pairs of backspace and clear
// key, which join a line to the one above and remove that. With single it begins with
// a backspace for each of chars characters, for a program that knows no clear key.
func removing(v screen.Snapshot, rules screen.Rules, pairs int, single bool, chars int) ([]byte, error) {
	if rules.Screen.ClearKey == "" {
		return backspaces(chars), nil
	}
	keys, err := clearing(v, rules)
	if err != nil {
		return nil, err
	}
	keys = append(keys, bytes.Repeat(append([]byte(backspace), keys...), pairs)...)
	if single {
		keys = append(backspaces(chars), keys...)
	}
	return keys, nil
}

// backspaces returns a backspace for each of chars characters, and some more for characters
// that a box does not show.
func backspaces(chars int) []byte {
	return bytes.Repeat([]byte(backspace), min(max(0, chars)+8, maxBackspaces))
}

// boxText returns what the box shows, or the whole screen where the box is not on it.
func boxText(v screen.Snapshot, c screen.InputBox) string {
	if c.Found {
		return c.Content
	}
	return strings.Join(v.Rows, "\n")
}

// awaitEffect waits until the box shows something else than before. Input that the program
// has not read yet is waited for until end.
func awaitEffect(ctx context.Context, w *screen.Watcher, rules screen.Rules, before string, end time.Time) (screen.InputBox, error) {
	c := w.Snapshot.InputBox(rules.Screen.InputBox)
	for until := time.Now().Add(clearEffect); time.Now().Before(until) && time.Now().Before(end); {
		if err := step(ctx, w); err != nil {
			return c, err
		}
		c = w.Snapshot.InputBox(rules.Screen.InputBox)
		if w.Snapshot.Exited || boxText(w.Snapshot, c) != before {
			return c, nil
		}
		if w.Snapshot.Input == screen.InputWaiting {
			until = time.Now().Add(clearEffect)
		}
	}
	return c, nil
}

// samplePeriod is how often it is asked what the program has read: that changes without
// a new frame.
const samplePeriod = 40 * time.Millisecond

// step waits for the next frame, or for a moment, and then takes the state of the terminal.
func step(ctx context.Context, w *screen.Watcher) error {
	changed, err := w.Next(ctx, samplePeriod)
	if err != nil || changed || w.Snapshot.Exited {
		return err
	}
	f, err := w.Terminal.Frame(ctx, 0)
	if err == nil {
		w.Snapshot = w.Snapshot.Update(f)
	}
	return err
}

// unechoed is how long the last key of a person who has left may take to show.
const unechoed = 500 * time.Millisecond

// isHumanActive reports whether a person typed a moment ago.
func isHumanActive(v screen.Snapshot, rules screen.Rules, now time.Time) bool {
	quiet := cmp.Or(rules.HumanQuiet, screen.DefaultHumanQuiet)
	if v.Attached == 0 {
		quiet = min(quiet, unechoed)
	}
	return !v.LastHuman.IsZero() && now.Sub(v.LastHuman) < quiet
}
