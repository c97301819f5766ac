package inject

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

const (
	// interruptEcho is the longest wait for an interrupted prompt to appear in the input box again, after the program has
	// read the keys and shows no turn.
	interruptEcho = time.Second
	// interruptRead is the longest wait for the program to read the keys and end the turn.
	interruptRead = 5 * time.Second
)

// Interrupt sends the keys that interrupt a turn. Some programs put the interrupted prompt back into the input box, where
// the next prompt would be joined with it. For such a program Interrupt empties the box, if the box contained only text
// of gc before. It does not remove what a person has typed since the last prompt of gc. A prompt that appears later is
// removed before the next delivery.
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
	wasEmpty := strings.TrimSpace(before.Content) == "" && !j.Unread
	// returned is also true if a slow program still shows the prompt that it has accepted.
	onlyOurs := wasEmpty || returned(j)
	if !onlyOurs || !clearsReturned(rules) || !before.Found {
		return nil
	}
	return removeReturned(ctx, l, w, rules, human)
}

// removeReturned waits for an interrupted prompt to appear in the input box and removes it. It stops if a person has typed
// after the time human.
func removeReturned(ctx context.Context, l Lease, w *screen.Watcher, rules screen.Rules, human time.Time) error {
	began := time.Now()
	for end := began.Add(interruptEcho); ; {
		changed, err := w.Next(ctx, time.Until(end))
		if err != nil || w.Snapshot.Exited || w.Snapshot.LastHuman.After(human) {
			return err
		}
		c := w.Snapshot.InputBox(rules.Screen.InputBox)
		if changed && c.Found && c.Content != "" && w.Snapshot.Dialog(rules) == nil {
			err := target{l, ""}.clearKey(ctx, w.Snapshot, rules)
			if errors.Is(err, ErrTouched) {
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

// clearsReturned reports whether the program puts an interrupted prompt back into its input box and has a key to empty
// the box.
func clearsReturned(rules screen.Rules) bool {
	return rules.Screen.RestoresPrompt && rules.Screen.ClearKey != ""
}

// returned reports whether the content of the input box can only be an interrupted prompt of gc: the last delivery was
// submitted, and no person has typed since.
func returned(j DeliveryAccount) bool {
	return !j.Unread && j.Last != nil && j.Last.Entered && j.Last.Outcome == string(runtime.OutcomeSubmitted)
}

// prepareWithoutReturned calls prepare. If the refusal is a draft that can only be an interrupted prompt, it removes that
// prompt and calls prepare again.
func (to target) prepareWithoutReturned(ctx context.Context, w *screen.Watcher, p Prompt, rules screen.Rules) (*runtime.Outcome, error) {
	no, err := prepare(ctx, w, p, rules)
	if err != nil || no == nil || no.Reason != runtime.RefusedDraft || !clearsReturned(rules) {
		return no, err
	}
	j, err := to.Account(ctx, "")
	c := w.Snapshot.InputBox(rules.Screen.InputBox)
	if err != nil || !returned(j) || !c.Found || c.Above {
		return no, err
	}
	switch err := to.emptyLine(ctx, w, rules, c, ""); {
	case errors.Is(err, ErrTouched):
		return no, nil
	case err != nil:
		return no, err
	}
	return prepare(ctx, w, p, rules)
}
