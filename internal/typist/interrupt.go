package typist

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity/internal/console"
	"gascity/internal/journal"
)

// interruptEcho bounds the wait for an interrupted prompt to come back.
const interruptEcho = time.Second

// Interrupt sends the keys that abandon a turn. If the agent is known to put
// the interrupted prompt back into its input line, and that line was empty
// before, it is emptied again, or the next prompt would be glued to it. What may be a
// person's stays: what they typed since the last prompt of ours, also if it was the turn.
func Interrupt(ctx context.Context, l Lease, rules console.Rules) error {
	w, err := console.Follow(ctx, l)
	if err != nil {
		return err
	}
	if w.View.Exited {
		return console.ErrExited
	}
	j, err := l.Account(ctx, "")
	if err != nil {
		return err
	}
	before, human := w.View.Composer(rules.Screen.Composer), w.View.LastHuman
	keys := rules.Screen.InterruptKeys
	if len(keys) == 0 {
		keys = []string{"C-c"}
	}
	for _, name := range keys {
		if err := w.Key(ctx, name); err != nil {
			return err
		}
	}
	if j.Unread || !rules.Screen.RestoresPrompt || rules.Screen.ClearKey == "" || !before.Found || strings.TrimSpace(before.Content) != "" {
		return nil
	}
	for end := time.Now().Add(interruptEcho); ; {
		changed, err := w.Next(ctx, time.Until(end))
		if err != nil || !changed || w.View.Exited || w.View.LastHuman.After(human) {
			return err
		}
		if c := w.View.Composer(rules.Screen.Composer); c.Found && c.Content != "" && w.View.Dialog(rules) == nil {
			err := target{l, l, ""}.clearKey(ctx, w.View, rules)
			if errors.Is(err, journal.ErrTouched) {
				return nil
			}
			return err
		}
	}
}
