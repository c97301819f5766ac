package inject

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

const (
	// interruptEcho bounds the wait for an interrupted prompt to come back, from when the
	// program has read the keys and shows no turn any more.
	interruptEcho = time.Second
	// interruptRead bounds the wait for that.
	interruptRead = 5 * time.Second
)

// Interrupt sends the keys that abandon a turn. If the agent is known to put
// the interrupted prompt back into its input box, and that line held nothing but ours
// before, it is emptied again, or the next prompt would be glued to it. What may be a
// person's stays: what they typed since the last prompt of ours, also if it was the turn.
// What comes back later is taken out before the next prompt.
func Interrupt(ctx context.Context, l Lease, rules screen.Rules) error {
	w, err := screen.NewWatcher(ctx, l)
	if err != nil {
		return err
	}
	if w.Snapshot.Exited {
		return screen.ErrExited
	}
	j, err := l.Account(ctx, "")
	if err != nil {
		return err
	}
	before, human := w.Snapshot.InputBox(rules.Screen.InputBox), w.Snapshot.LastHuman
	keys := rules.Screen.InterruptKeys
	if len(keys) == 0 {
		keys = []string{"C-c"}
	}
	for _, name := range keys {
		if err := w.Key(ctx, name); err != nil {
			return err
		}
	}
	ours := strings.TrimSpace(before.Content) == "" && !j.Unread || returned(j) // a slow program still shows what it has taken
	if !ours || !clearsReturned(rules) || !before.Found {
		return nil
	}
	return emptyAgain(ctx, l, w, rules, human)
}

// emptyAgain removes the prompt from the input box that comes back into it. human is when
// a person had last typed.
func emptyAgain(ctx context.Context, l Lease, w *screen.Watcher, rules screen.Rules, human time.Time) error {
	began := time.Now()
	for end := began.Add(interruptEcho); ; {
		changed, err := w.Next(ctx, time.Until(end))
		if err != nil || w.Snapshot.Exited || w.Snapshot.LastHuman.After(human) {
			return err
		}
		c := w.Snapshot.InputBox(rules.Screen.InputBox)
		if changed && c.Found && c.Content != "" && w.Snapshot.Dialog(rules) == nil {
			err := target{l, l, ""}.clearKey(ctx, w.Snapshot, rules)
			if errors.Is(err, inputlog.ErrTouched) {
				return nil
			}
			return err
		}
		now, err := l.Frame(ctx, 0)
		switch {
		case err != nil:
			return err
		case time.Since(began) < interruptRead && (now.Input == screen.InputWaiting || w.Snapshot.Busy(rules.Screen, c) != ""):
			end = time.Now().Add(interruptEcho)
		case !changed:
			return nil
		}
	}
}

// clearsReturned reports whether the program puts an interrupted prompt back into its
// input box, and has a key to empty it.
func clearsReturned(rules screen.Rules) bool {
	return rules.Screen.RestoresPrompt && rules.Screen.ClearKey != ""
}

// returned reports whether what the input box holds can only be a prompt that has come
// back: no person has typed since the last one of ours was submitted, from an empty
// line.
func returned(j inputlog.Account) bool {
	return !j.Unread && j.Last != nil && j.Last.Entered && j.Last.Outcome == string(runtime.OutcomeSubmitted)
}

// withoutReturned removes a prompt that has come back from the input box that a delivery
// was refused for, and looks again whether it can be taken.
func (to target) withoutReturned(ctx context.Context, w *screen.Watcher, p Prompt, rules screen.Rules) (*runtime.Outcome, error) {
	no, err := prepare(ctx, w, p, rules)
	if err != nil || no == nil || no.Reason != runtime.RefusedDraft || to.journal == nil || !clearsReturned(rules) {
		return no, err
	}
	j, err := to.journal.Account(ctx, "")
	c := w.Snapshot.InputBox(rules.Screen.InputBox)
	if err != nil || !returned(j) || !c.Found || c.Above {
		return no, err
	}
	switch err := to.emptyLine(ctx, w, rules, c, ""); {
	case errors.Is(err, inputlog.ErrTouched):
		return no, nil
	case err != nil:
		return no, err
	}
	return prepare(ctx, w, p, rules)
}
