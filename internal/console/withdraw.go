package console

import (
	"context"
	"strings"
	"time"
)

// Withdrawal is a text to be taken back.
type Withdrawal struct {
	Text string
	// Noted is when the delivery of it began; zero if no delivery is known that may
	// have left it.
	Noted time.Time
}

// Withdraw takes a text of ours that was never submitted out of the input line. True is
// proof that the program never took it: the line held exactly the text, and holds nothing
// any more. Nothing is touched, and it is false, where a person may have put anything
// there, or where the program puts prompts back that it had taken.
func Withdraw(ctx context.Context, t Terminal, rules Rules, wd Withdrawal) (bool, error) {
	w, err := start(ctx, t)
	if err != nil {
		return false, err
	}
	held := &lease{t: t}
	if err := w.renew(ctx, held); err != nil {
		return false, err
	}
	defer held.end()
	if w.v.Exited {
		return false, ErrExited
	}
	no, err := w.refuseNow(ctx, rules)
	if err != nil || no || wd.Noted.IsZero() {
		return false, err
	}
	c, ours := w.leftover(rules, []string{wd.Text})
	if !ours || !c.found || !w.alone(c, rules, wd) {
		return false, nil
	}
	human := w.v.LastHuman
	if err := w.emptyLine(ctx, rules, c); err != nil {
		return false, err
	}
	return w.stayedEmpty(ctx, rules, human)
}

// refuseNow reports whether a person types, or a dialog is up.
func (w *watch) refuseNow(ctx context.Context, rules Rules) (bool, error) {
	for end := time.Now().Add(maxRefusal); ; {
		changed, err := w.next(ctx, min(midPaint-time.Since(w.v.LastOutput), time.Until(end)))
		if err != nil {
			return true, err
		}
		if !changed {
			return w.v.humanActive(rules, time.Now()) || w.v.dialog(rules) != nil, nil
		}
	}
}

// alone reports whether nobody but the delivery can have put into the line what it holds.
func (w *watch) alone(c composer, rules Rules, wd Withdrawal) bool {
	if !w.v.LastHuman.After(wd.Noted) {
		return true
	}
	return !rules.Screen.RestoresPrompt && skeleton(c.content) == skeleton(wd.Text)
}

// stayedEmpty reports whether the line is empty and remains so for a moment.
func (w *watch) stayedEmpty(ctx context.Context, rules Rules, human time.Time) (bool, error) {
	for end := time.Now().Add(leaving); ; {
		c := w.v.readComposer(rules.Screen.Composer)
		if w.v.Exited || w.v.LastHuman.After(human) || !c.found || strings.TrimSpace(c.content) != "" {
			return false, nil
		}
		changed, err := w.next(ctx, time.Until(end))
		if err != nil || !changed {
			return err == nil, err
		}
	}
}
