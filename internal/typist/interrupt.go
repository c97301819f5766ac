package typist

import (
	"context"
	"strings"
	"time"

	"gascity/internal/console"
)

// interruptEcho bounds the wait for an interrupted prompt to come back.
const interruptEcho = time.Second

// Interrupt sends the keys that abandon a turn. If the agent is known to put
// the interrupted prompt back into its input line, and that line was empty
// before, it is emptied again, or the next prompt would be glued to it.
func Interrupt(ctx context.Context, t console.Terminal, rules console.Rules) error {
	w, err := console.Follow(ctx, t)
	if err != nil {
		return err
	}
	if w.View.Exited {
		return console.ErrExited
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
	if !rules.Screen.RestoresPrompt || rules.Screen.ClearKey == "" || !before.Found || strings.TrimSpace(before.Content) != "" {
		return nil
	}
	for end := time.Now().Add(interruptEcho); ; {
		changed, err := w.Next(ctx, time.Until(end))
		if err != nil || !changed || w.View.Exited || w.View.LastHuman.After(human) {
			return err
		}
		if c := w.View.Composer(rules.Screen.Composer); c.Found && c.Content != "" && w.View.Dialog(rules) == nil {
			return w.Key(ctx, rules.Screen.ClearKey)
		}
	}
}
