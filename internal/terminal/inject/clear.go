package inject

import (
	"bytes"
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
)

const (
	// clearEffect is the longest time that a program may take to show the effect of keys that remove text.
	clearEffect = 750 * time.Millisecond
	// clearLimit is the longest time that emptyLine tries to empty an input box.
	clearLimit = 8 * time.Second
	// maxIdle is the number of rounds without an effect after which emptyLine may stop.
	maxIdle = 3
	// minPairs is the number of pairs in one piece of input to which emptyLine increases, and maxPairs the limit if the
	// box may contain a longer text. Each pair removes one line.
	minPairs = 64
	maxPairs = 512
	// maxBackspaces is the limit of backspaces in one piece of input.
	maxBackspaces = 2048
)

// backspace is the key that removes the character before the cursor.
const backspace = "\x7f"

// clearKey presses the key that empties the input box, unless a person or another program has sent input since the delivery
// log was read.
func (to target) clearKey(ctx context.Context, v screen.Snapshot, rules screen.Rules) error {
	p, err := clearKeys(v, rules)
	if err != nil {
		return err
	}
	return to.Type(ctx, InputClear, p)
}

// clearKeys returns the keys that empty the input box: the end key, if the profile has one, and the clear key.
func clearKeys(v screen.Snapshot, rules screen.Rules) ([]byte, error) {
	end, err := endKey(v, rules)
	if err != nil {
		return nil, err
	}
	key, err := vt.Key(rules.Screen.ClearKey, v.Modes)
	return append(end, key...), err
}

// endKey returns the key that moves the cursor to the end of the input box; nil if the profile has none.
func endKey(v screen.Snapshot, rules screen.Rules) ([]byte, error) {
	if rules.Screen.EndKey == "" {
		return nil, nil
	}
	return vt.Key(rules.Screen.EndKey, v.Modes)
}

// emptyLine sends keys that remove the content of the input box c; text is the longest text that the box may contain. It
// uses the clear key, and adds backspaces if the clear key removes only one line or nothing. It stops if the box is empty,
// if enough keys for the whole text have had no effect, if a person types, or after clearLimit. So a nil error does not
// mean that the box is empty: the caller must check that.
func (to target) emptyLine(ctx context.Context, w *screen.Watcher, rules screen.Rules, c screen.InputBox, text string) error {
	human, idle, pairs := w.Snapshot.LastHuman, 0, 0
	lines, chars := rowsOf(text), utf8.RuneCountInString(text) // lines and characters for which no keys were sent yet
	if rules.Screen.ClearKey == "" {
		lines = 0
	}
	for end := time.Now().Add(clearLimit); time.Now().Before(end); {
		before := boxText(w.Snapshot, c)
		keys, err := removalKeys(w.Snapshot, rules, pairs, idle > 0, max(chars, utf8.RuneCountInString(c.Content)))
		if err != nil {
			return err
		}
		lines, chars = lines-pairs, chars-bytes.Count(keys, []byte(backspace))
		if err := to.Type(ctx, InputClear, keys); err != nil {
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
			return nil // not earlier: if all rows look alike, removing one of them does not change the screen
		}
		pairs = min(max(1, 4*pairs), max(minPairs, min(lines, maxPairs)))
	}
	return nil
}

// removalKeys returns the keys of one round: the clear key, then pairs of backspace and clear key. A pair joins a line to
// the one above and removes it. If single is true, the keys begin with a backspace for each of chars characters, for a
// program that does not know the clear key.
func removalKeys(v screen.Snapshot, rules screen.Rules, pairs int, single bool, chars int) ([]byte, error) {
	if rules.Screen.ClearKey == "" {
		return backspaces(chars), nil
	}
	keys, err := clearKeys(v, rules)
	if err != nil {
		return nil, err
	}
	keys = append(keys, bytes.Repeat(append([]byte(backspace), keys...), pairs)...)
	if single {
		keys = append(backspaces(chars), keys...)
	}
	return keys, nil
}

// backspaces returns a backspace for each of chars characters, and 8 more for characters that the box does not show. It
// returns at most maxBackspaces.
func backspaces(chars int) []byte {
	return bytes.Repeat([]byte(backspace), min(max(0, chars)+8, maxBackspaces))
}

// boxText returns the content of the box, or the whole screen if the box is not found.
func boxText(v screen.Snapshot, c screen.InputBox) string {
	if c.Found {
		return c.Content
	}
	return strings.Join(v.Rows, "\n")
}

// awaitEffect waits until the content of the box differs from oldContent, and returns the box. It waits for clearEffect after
// the program has read its input, and until end at the latest.
func awaitEffect(ctx context.Context, w *screen.Watcher, rules screen.Rules, oldContent string, end time.Time) (screen.InputBox, error) {
	c := w.Snapshot.InputBox(rules.Screen.InputBox)
	for until := time.Now().Add(clearEffect); time.Now().Before(until) && time.Now().Before(end); {
		if err := step(ctx, w); err != nil {
			return c, err
		}
		c = w.Snapshot.InputBox(rules.Screen.InputBox)
		if w.Snapshot.Exited || boxText(w.Snapshot, c) != oldContent {
			return c, nil
		}
		if w.Snapshot.Input == screen.InputWaiting {
			until = time.Now().Add(clearEffect)
		}
	}
	return c, nil
}

// samplePeriod is the interval at which step reads the input state, which changes without a new frame.
const samplePeriod = 40 * time.Millisecond

// step waits for the next frame, for at most samplePeriod, and updates the snapshot.
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

// unechoed is the quiet time after the last key of a person who has detached: the key may not be on the screen yet.
const unechoed = 500 * time.Millisecond

// isHumanActive reports whether a person has typed within the quiet time.
func isHumanActive(v screen.Snapshot, rules screen.Rules, now time.Time) bool {
	quiet := cmp.Or(rules.HumanQuiet, screen.DefaultHumanQuiet)
	if v.Attached == 0 {
		quiet = min(quiet, unechoed)
	}
	return !v.LastHuman.IsZero() && now.Sub(v.LastHuman) < quiet
}
