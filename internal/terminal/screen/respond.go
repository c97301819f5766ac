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
	Request string // the RequestID by [Sense] of the question that is meant
	Action  string // a runtime Action word
	Text    string
}

// errUnanswered reports that keys were pressed, and that the question still stands.
var errUnanswered = errors.New("the question did not react and may still stand")

const (
	// keyEffect is how long an arrow key may take to show, answerEffect is the same for
	// the key that answers.
	keyEffect    = 2 * time.Second
	answerEffect = 5 * time.Second
	// maxSteady bounds the wait for a question that never stands still.
	maxSteady = 500 * time.Millisecond
)

// Respond answers the question that stands on the screen: it moves to the option by its
// label, one verified key after the other, and confirms only the one that is meant. Every
// key is pressed onto the question that was asked for; [runtime.ErrInteractionGone] if
// another one stands or none, and [runtime.AnswerError] if it cannot be answered so: then
// no key was pressed. Any other error says that keys were, and that the question may still
// stand. [runtime.ActionText] is not for here.
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

type responder struct {
	*Watcher
	rules   Rules
	request string
}

// question returns the one that is meant, if it stands.
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

// standing is question for a program that draws its screen again, part after part: one that
// is not whole may be so in a moment.
func (r *responder) standing(ctx context.Context) (question, error) {
	stands := func() bool { _, err := r.question(); return !errors.Is(err, runtime.ErrInteractionGone) }
	if _, err := r.until(ctx, maxSteady, stands); err != nil {
		return question{}, err
	}
	return r.question()
}

// steady waits until the question stands still for the given time, with its highlighted row,
// and returns it.
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
			return afterKeys(&runtime.AnswerError{Action: runtime.ActionChoose, Why: "the highlighted option is not known"}, pressed)
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

// unsettled returns how long the screen must still rest before the first key. A program may
// draw a new dialog twice, and highlight its first option again the second time.
func (r *responder) unsettled() time.Duration {
	return max(steady, settleTime-time.Since(r.Snapshot.LastOutput))
}

// afterKeys distinguishes an error before the first key from one after it: moving the
// highlighted row answers nothing, but is not nothing.
func afterKeys(err error, pressed int) error {
	if pressed > 0 && !errors.Is(err, runtime.ErrInteractionGone) {
		return fmt.Errorf("%w: %w", errUnanswered, err)
	}
	return err
}

// confirm presses the key that answers, and waits until the question is gone, and not only for
// the moment in which a program that redraws shows a part of its screen. One with the
// same words may follow at once: it stands below something new, is highlighted elsewhere, or
// was reported later.
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

// above returns what stands above a dialog's options.
func (v Snapshot) above(d *Dialog) string {
	if len(d.Options) == 0 {
		return ""
	}
	return strings.Join(trimBlank(v.rows[:d.Options[0].Row]), "\n")
}

func (r *responder) cancel(ctx context.Context, q question, a Response) error {
	if q.dialog == nil || q.dialog.rule == nil || q.dialog.rule.Cancel == "" {
		return &runtime.AnswerError{Action: a.Action, Why: "no key is known that leaves it without an answer"}
	}
	q, err := r.steady(ctx, r.unsettled())
	if err != nil {
		return err
	}
	return r.confirm(ctx, q, q.dialog.rule.Cancel)
}

// until follows the screen until ok is true or limit has passed.
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

// The labels by which programs that no rule describes let something happen once, or not.
var (
	onceLabels = []string{"yes", "allow once", "allow", "approve", "proceed", "yes, proceed", "accept", "ok"}
	denyLabels = []string{"no", "deny", "reject", "decline", "don't allow", "do not allow", "cancel"}
)

// option returns the index of the option that is meant, or why none is.
func (q question) option(a Response) (index int, why string) {
	d := q.dialog
	switch {
	case d == nil || len(d.Options) == 0:
		return -1, "no options are drawn that could be chosen"
	case d.At < 0:
		return -1, "the highlighted option is not known"
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
		return d.labelled(a.Action) // the word of an option, as older callers have it
	}
	index, ok := menu{options: d.Options}.find(labels)
	if !ok {
		return -1, "none or more than one of its options is known to mean that"
	}
	return index, ""
}

// policy returns the labels that the dialog's rule has for an answer, else those for a
// start-up dialog, else common ones.
func (d *Dialog) policy(answer, startup agentcli.Policy, common []string) []string {
	if d.rule == nil {
		return common
	}
	if labels := d.rule.Want[answer]; len(labels) > 0 || d.rule.Kind == agentcli.DialogTool {
		return labels
	}
	return d.rule.Want[startup]
}

// labelled returns the index of the option with the label: as it is drawn, else without
// what labels differ in, else by its number.
func (d *Dialog) labelled(label string) (index int, why string) {
	same := func(o Option) bool { return o.Label == label }
	if i := slices.IndexFunc(d.Options, same); i >= 0 {
		if slices.ContainsFunc(d.Options[i+1:], same) {
			return -1, "more than one option is labelled so"
		}
		return i, ""
	}
	options := menu{options: d.Options}
	if i, ok := options.find([]string{label}); ok {
		return i, ""
	}
	n, err := strconv.Atoi(label)
	if err != nil || n < 1 || n > len(d.Options) {
		return -1, "no option, or more than one, is labelled so"
	}
	if first := d.Options[0].Number; first > 1 {
		return -1, "the list of options begins off the screen, so numbers cannot be relied on"
	}
	return n - 1, ""
}
