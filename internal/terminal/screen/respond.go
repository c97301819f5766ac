package screen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/runtime"
)

// Response answers one question.
type Response struct {
	Request string // the RequestID from [Sense] of the question
	Action  string // one of the runtime.Action constants, or the label of an option
	Text    string
}

// errUnanswered reports that keys were pressed and the question may still be on the screen.
var errUnanswered = errors.New("gc pressed keys, but the question may still be open")

const (
	// keyEffect is the longest wait for the effect of an arrow key, answerEffect for that of the confirming key.
	keyEffect    = 2 * time.Second
	answerEffect = 5 * time.Second
	// maxSteady is the limit of the wait for a question that always changes.
	maxSteady = 500 * time.Millisecond
)

// Respond answers the question on the screen. It moves to the option with arrow keys, verifies the effect of each key, and
// confirms only the requested option. Before each key it checks that the requested question is still on the screen.
//
// The error is [runtime.ErrInteractionGone] if there is no question or another one, and [runtime.AnswerError] if the answer
// does not fit the question; then no key was pressed. Any other error means that keys were pressed and the question may
// still be on the screen. Respond does not support [runtime.ActionText].
func Respond(ctx context.Context, t Terminal, rules Rules, a Response) error {
	w, err := NewWatcher(ctx, t)
	if err != nil {
		return err
	}
	if err := w.Hold(ctx); err != nil {
		return err
	}
	defer w.Release()
	r := &responder{Watcher: w, rules: rules, request: a.Request}
	q, err := r.standing(ctx)
	if err != nil {
		return err
	}
	if a.Action == runtime.ActionCancel {
		return r.cancel(ctx, q, a)
	}
	want, why := q.option(a)
	if why != "" {
		return &runtime.AnswerError{Action: a.Action, Text: a.Text, Why: why}
	}
	return r.choose(ctx, want)
}

// responder answers one question.
type responder struct {
	*Watcher
	rules   Rules
	request string
}

// question returns the requested question if it is on the screen, and ErrInteractionGone otherwise.
func (r *responder) question() (question, error) {
	if r.Snapshot.Exited {
		return question{}, ErrExited
	}
	q, ok := r.Snapshot.asked(r.rules)
	if !ok || q.digest() != r.request {
		return question{}, runtime.ErrInteractionGone
	}
	return q, nil
}

// standing returns the requested question when it is on the screen. It waits up to maxSteady for it, because the program
// may be redrawing its screen; after that the error is ErrInteractionGone.
func (r *responder) standing(ctx context.Context) (question, error) {
	stands := func() bool { _, err := r.question(); return !errors.Is(err, runtime.ErrInteractionGone) }
	if _, err := r.until(ctx, maxSteady, stands); err != nil {
		return question{}, err
	}
	return r.question()
}

// steady waits until the question and its highlighted row have not changed for the time still, and returns the question.
func (r *responder) steady(ctx context.Context, still time.Duration) (question, error) {
	state := ""
	for end := time.Now().Add(max(maxSteady, 2*still)); ; {
		q, err := r.standing(ctx)
		if err != nil {
			return q, err
		}
		now := ""
		if q.dialog != nil {
			now = q.dialog.state()
		}
		changed, err := r.Next(ctx, still)
		if err != nil {
			return q, err
		}
		if !changed || now == state && time.Now().After(end) {
			return r.standing(ctx)
		}
		state = now
	}
}

// choose moves to the option of the given index and confirms it.
func (r *responder) choose(ctx context.Context, want int) error {
	pressed := 0
	for range maxKeys {
		if err := r.Hold(ctx); err != nil {
			return err
		}
		still := steady
		if pressed == 0 {
			still = r.unsettled()
		}
		q, err := r.steady(ctx, still)
		if err != nil {
			return afterKeys(err, pressed)
		}
		at := q.dialog.At
		if at < 0 {
			return afterKeys(&runtime.AnswerError{Action: runtime.ActionChoose, Why: "gc cannot see which option is highlighted"}, pressed)
		}
		if at == want {
			return r.confirm(ctx, q, "Enter")
		}
		name := "Down"
		if at > want {
			name = "Up"
		}
		pressed++
		if err := r.Key(ctx, name); err != nil {
			return err
		}
		moved := func() bool { q, err := r.question(); return err == nil && q.dialog.At != at }
		if ok, err := r.until(ctx, keyEffect, moved); err != nil || !ok {
			_, gone := r.question()
			return cmp.Or(gone, errors.Join(err, errUnanswered))
		}
	}
	return errUnanswered
}

// unsettled returns how much longer the screen must not change before the first key may be pressed. A program may draw a
// new dialog twice and then highlight its first option again; a key between the two would have no effect.
func (r *responder) unsettled() time.Duration {
	return max(steady, settleTime-time.Since(r.Snapshot.LastOutput))
}

// afterKeys adds errUnanswered to an error if keys were pressed before it.
func afterKeys(err error, pressed int) error {
	if pressed > 0 && !errors.Is(err, runtime.ErrInteractionGone) {
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	return err
}

// confirm presses the confirming key and waits until the question has disappeared and does not appear again at once, as
// during a redraw. A new question with the same text also ends the wait. It differs in the text above it, in the
// highlighted row or in the program's report.
func (r *responder) confirm(ctx context.Context, q question, name string) error {
	before := r.Snapshot
	if err := r.Key(ctx, name); err != nil {
		return err
	}
	answered := func() bool {
		now, err := r.question()
		return err != nil || now.dialog.At != q.dialog.At || r.Snapshot.Status != before.Status || r.Snapshot.above(now.dialog) != before.above(q.dialog)
	}
	for end := time.Now().Add(answerEffect); ; {
		if ok, err := r.until(ctx, time.Until(end), answered); err != nil || !ok {
			return errors.Join(err, errUnanswered)
		}
		back, err := r.until(ctx, steady, func() bool { return !answered() })
		if err != nil {
			return errors.Join(err, errUnanswered)
		}
		if !back || r.Snapshot.Exited {
			return nil
		}
	}
}

// above returns the text above a dialog's options.
func (v Snapshot) above(d *Dialog) string {
	if len(d.Options) == 0 {
		return ""
	}
	return strings.Join(trimBlank(v.rows[:d.Options[0].Row]), "\n")
}

// cancel presses the key by which the dialog's rule closes the dialog without an answer.
func (r *responder) cancel(ctx context.Context, q question, a Response) error {
	if q.dialog == nil || q.dialog.rule == nil || q.dialog.rule.Cancel == "" {
		return &runtime.AnswerError{Action: a.Action, Why: "gc knows no key that closes this dialog without an answer"}
	}
	q, err := r.steady(ctx, r.unsettled())
	if err != nil {
		return err
	}
	return r.confirm(ctx, q, q.dialog.rule.Cancel)
}

// until waits for frames until ok returns true. It returns false when limit has passed.
func (r *responder) until(ctx context.Context, limit time.Duration, ok func() bool) (bool, error) {
	for end := time.Now().Add(limit); !ok(); {
		changed, err := r.Next(ctx, time.Until(end))
		if err != nil || !changed && time.Until(end) <= 0 {
			return false, err
		}
		if !changed && r.Snapshot.Exited {
			return true, nil
		}
	}
	return true, nil
}

// The usual labels for allowing something once and for denying it, for dialogs without a rule.
var (
	onceLabels = []string{"yes", "allow once", "allow", "approve", "proceed", "yes, proceed", "accept", "ok"}
	denyLabels = []string{"no", "deny", "reject", "decline", "don't allow", "do not allow", "cancel"}
)

// option returns the index of the option for the response, or the reason why there is none.
func (q question) option(a Response) (index int, why string) {
	d := q.dialog
	switch {
	case d == nil || len(d.Options) == 0:
		return -1, "the question shows no options to choose from"
	case d.At < 0:
		return -1, "gc cannot see which option is highlighted"
	}
	var labels []string
	switch a.Action {
	case runtime.ActionChoose:
		return d.labelled(a.Text)
	case runtime.ActionApprove:
		labels = d.policy(agentcli.PolicyApprove, agentcli.PolicyAccept, onceLabels)
	case runtime.ActionDeny:
		labels = d.policy(agentcli.PolicyDeny, agentcli.PolicyDecline, denyLabels)
	default:
		return d.labelled(a.Action) // older callers send the label of an option as the action
	}
	index, ok := menu{options: d.Options}.find(labels)
	if !ok {
		return -1, "no option, or more than one, is known to have this meaning; choose an option by its number"
	}
	return index, ""
}

// policy returns the labels of the options that mean the wanted answer, in order of preference: those that the dialog's
// rule has for answer, else those that it has for startup. Without a rule it returns common, the labels that many programs
// use.
func (d *Dialog) policy(answer, startup agentcli.Policy, common []string) []string {
	if d.rule == nil {
		return common
	}
	if labels := d.rule.Want[answer]; len(labels) > 0 || d.rule.Kind == agentcli.DialogTool {
		return labels
	}
	return d.rule.Want[startup]
}

// labelled returns the index of the option with the label. It compares the exact label first, then the canonical label,
// then the number of the option.
func (d *Dialog) labelled(label string) (index int, why string) {
	same := func(o Option) bool { return o.Label == label }
	if i := slices.IndexFunc(d.Options, same); i >= 0 {
		if slices.ContainsFunc(d.Options[i+1:], same) {
			return -1, "more than one option has this label"
		}
		return i, ""
	}
	options := menu{options: d.Options}
	if i, ok := options.find([]string{label}); ok {
		return i, ""
	}
	n, err := strconv.Atoi(label)
	if err != nil || n < 1 || n > len(d.Options) {
		return -1, "no option, or more than one, has this label"
	}
	if first := d.Options[0].Number; first > 1 {
		return -1, "the beginning of the list of options is not on the screen, so numbers are not reliable"
	}
	return n - 1, ""
}
