package inject

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// ClearInput removes all text from the input box, also the text of a person, and proves that the box is empty. It then
// records an interrupted delivery, whose text may have been in the box, as ended. It types nothing while a dialog is on
// the screen. The error matches [errors.ErrUnsupported] if gc cannot read the program's input box.
func ClearInput(ctx context.Context, l Lease, rules screen.Rules) error {
	w, err := screen.NewWatcher(ctx, l)
	if err != nil {
		return err
	}
	defer w.Release()
	r := &resolver{Watcher: w, to: target{Lease: l}, rules: rules, end: time.Now().Add(resolveLimit)}
	if isBlind(r.rules) {
		return fmt.Errorf("the input box of this program is not known to gc: set ready_prompt_prefix, or restart the agent: %w", errors.ErrUnsupported)
	}
	if err := r.Hold(ctx); err != nil {
		return err
	}
	j, err := l.Account(ctx, "")
	if err != nil {
		return err
	}
	if j.Last != nil {
		r.entry.Text = j.Last.Text // determines the number of keys
	}
	if err := r.reload(ctx); err != nil {
		return err
	}
	if r.Snapshot.Exited {
		return screen.ErrExited
	}
	if r.Snapshot.Dialog(rules) != nil {
		return errors.New("a dialog is on the screen and would get the keys: answer it first")
	}
	r.humanInput = r.Snapshot.LastHuman
	switch _, err := r.clear(ctx, "all"); {
	case errors.Is(err, ErrTouched):
		return errors.New(typing)
	case err != nil:
		return err
	case r.Snapshot.Exited:
		return screen.ErrExited
	}
	if err := r.proveCleared(ctx); err != nil {
		return err
	}
	return r.recordCleared(ctx)
}

// proveCleared returns an error if the box is not empty, or if that cannot be determined.
func (r *resolver) proveCleared(ctx context.Context) error {
	if r.hasInputState() {
		wait, err := r.awaitStable(ctx, boxStableFor)
		switch {
		case err != nil:
			return err
		case wait != "":
			return errors.New(notStable(wait).Why)
		}
	}
	c := r.inputBox()
	switch {
	case !c.Found:
		return errors.New(offScreen)
	case r.Snapshot.LastHuman.After(r.humanInput):
		return errors.New(typing)
	case !c.Empty():
		return fmt.Errorf("the input box still shows %d characters: neither the clear key nor backspace removes them; restart the agent",
			utf8.RuneCountInString(c.Content))
	}
	return nil
}

// recordCleared records that the text of the last delivery is no longer in the box.
func (r *resolver) recordCleared(ctx context.Context) error {
	j, err := r.to.Account(ctx, "")
	if err != nil || j.Last == nil || !j.Last.Open {
		return err
	}
	e := *j.Last
	e.Open = false
	switch {
	case e.Unsent, !e.Entered && !e.Touched: // with other input after it, the text may have been submitted
		e.Outcome, e.Evidence, e.Final = OutcomeWithdrawn, "", true
	case e.Outcome == "":
		e.Outcome = string(runtime.OutcomeUnconfirmed)
	}
	return r.to.RecordOutcome(ctx, e)
}
