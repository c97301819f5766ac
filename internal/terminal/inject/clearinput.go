package inject

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// ClearInput removes all text from the input box, also what a person typed, and proves that
// the box is empty. What was left of a delivery that was cut off is withdrawn then. It types
// nothing while a dialog is up. An error that matches [errors.ErrUnsupported] says that no
// input box of the program is known.
func ClearInput(ctx context.Context, l Lease, rules screen.Rules) error {
	w, err := screen.NewWatcher(ctx, l)
	if err != nil {
		return err
	}
	defer w.Release()
	to := target{terminal: l, journal: l}
	r := &resolver{Watcher: w, to: to, rules: rules, end: time.Now().Add(resolveLimit)}
	if r.isBlind() {
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
		r.entry.Text = j.Last.Text // how much may be in the box
	}
	if err := r.recall(ctx); err != nil {
		return err
	}
	if r.Snapshot.Exited {
		return screen.ErrExited
	}
	if r.Snapshot.Dialog(rules) != nil {
		return errors.New("a dialog is up, and would get the keys: answer it first")
	}
	r.humanInput = r.Snapshot.LastHuman
	switch _, err := r.clear(ctx, "all"); {
	case errors.Is(err, inputlog.ErrTouched):
		return errors.New("a person types")
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

// proveCleared says what is left in the box.
func (r *resolver) proveCleared(ctx context.Context) error {
	if r.hasInputState() {
		wait, err := r.atRest(ctx, boxStableFor)
		switch {
		case err != nil:
			return err
		case wait != "":
			return errors.New(unrested(wait).Why)
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

// recordCleared ends the delivery whose text may have been in the box, if there is one.
func (r *resolver) recordCleared(ctx context.Context) error {
	j, err := r.to.journal.Account(ctx, "")
	if err != nil || j.Last == nil || !j.Last.Open {
		return err
	}
	e := *j.Last
	e.Open = false
	switch {
	case e.Unsent, !e.Entered && !e.Touched: // who typed behind it may have submitted it
		e.Outcome, e.Evidence, e.Final = inputlog.OutcomeWithdrawn, "", true
	case e.Outcome == "":
		e.Outcome = string(runtime.OutcomeUnconfirmed)
	}
	return r.to.journal.RecordOutcome(ctx, e)
}
