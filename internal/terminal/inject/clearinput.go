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
	w, err := screen.Follow(ctx, l)
	if err != nil {
		return err
	}
	defer w.Release()
	to := target{terminal: l, book: l}
	r := &resolver{Watch: w, to: to, rules: rules, end: time.Now().Add(resolveLimit)}
	if r.blind() {
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
		r.left.Text = j.Last.Text // how much may be in the box
	}
	if err := r.recall(ctx); err != nil {
		return err
	}
	if r.View.Exited {
		return screen.ErrExited
	}
	if r.View.Dialog(rules) != nil {
		return errors.New("a dialog is up, and would get the keys: answer it first")
	}
	r.human = r.View.LastHuman
	switch _, err := r.clear(ctx, "all"); {
	case errors.Is(err, inputlog.ErrTouched):
		return errors.New("a person types")
	case err != nil:
		return err
	case r.View.Exited:
		return screen.ErrExited
	}
	if err := r.proveCleared(ctx); err != nil {
		return err
	}
	return r.settleCleared(ctx)
}

// proveCleared says what is left in the box.
func (r *resolver) proveCleared(ctx context.Context) error {
	if r.knowsInput() {
		wait, err := r.atRest(ctx, settles)
		switch {
		case err != nil:
			return err
		case wait != "":
			return errors.New(unrested(wait).Why)
		}
	}
	c := r.composer()
	switch {
	case !c.Found:
		return errors.New(offScreen)
	case r.View.LastHuman.After(r.human):
		return errors.New(typing)
	case !c.Empty():
		return fmt.Errorf("the input box still shows %d characters: neither the clear key nor backspace removes them; restart the agent",
			utf8.RuneCountInString(c.Content))
	}
	return nil
}

// settleCleared ends the delivery whose text may have been in the box, if there is one.
func (r *resolver) settleCleared(ctx context.Context) error {
	j, err := r.to.book.Account(ctx, "")
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
	return r.to.book.Settle(ctx, e)
}
