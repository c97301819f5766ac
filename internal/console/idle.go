package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gascity/runtime"
)

// Idle waits until the agent waits for input: its prompt is on the screen, no
// sign of a turn or dialog is, and that has been so for 200 ms. The end of
// timeout is an error matching [context.DeadlineExceeded] that says what was
// seen last; [ErrExited] if the agent exited.
func Idle(ctx context.Context, t Terminal, rules Rules, timeout time.Duration) error {
	end := time.Now().Add(timeout)
	w, err := start(ctx, t)
	if err != nil {
		return err
	}
	var since time.Time // when the agent was first seen at rest
	for {
		if w.v.Exited {
			return ErrExited
		}
		a := w.v.activity(rules)
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
		changed, err := w.next(ctx, wait)
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

// interruptEcho bounds the wait for an interrupted prompt to come back.
const interruptEcho = time.Second

// Interrupt sends the keys that abandon a turn. If the agent is known to put
// the interrupted prompt back into its input line, and that line was empty
// before, it is emptied again, or the next prompt would be glued to it.
func Interrupt(ctx context.Context, t Terminal, rules Rules) error {
	w, err := start(ctx, t)
	if err != nil {
		return err
	}
	if w.v.Exited {
		return ErrExited
	}
	before, human := w.v.readComposer(rules.Screen.Composer), w.v.LastHuman
	keys := rules.Screen.InterruptKeys
	if len(keys) == 0 {
		keys = []string{"C-c"}
	}
	for _, name := range keys {
		if err := w.key(ctx, name); err != nil {
			return err
		}
	}
	if !rules.Screen.RestoresPrompt || rules.Screen.ClearKey == "" || !before.found || strings.TrimSpace(before.content) != "" {
		return nil
	}
	for end := time.Now().Add(interruptEcho); ; {
		changed, err := w.next(ctx, time.Until(end))
		if err != nil || !changed || w.v.Exited || w.v.LastHuman.After(human) {
			return err
		}
		if c := w.v.readComposer(rules.Screen.Composer); c.found && c.content != "" && w.v.dialog(rules) == nil {
			return w.key(ctx, rules.Screen.ClearKey)
		}
	}
}
