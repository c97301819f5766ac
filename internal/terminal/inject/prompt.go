package inject

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/textchange"
	"gascity/runtime"
)

// DefaultConfirm bounds the wait for evidence after Enter.
const DefaultConfirm = 5 * time.Second

// Prompt is a text on its way to the agent.
type Prompt struct {
	Text string
	// Confirm bounds the wait for evidence after Enter; zero is DefaultConfirm.
	Confirm time.Duration
	// Answer: the text is the answer that the program's own report waits for, which
	// otherwise holds every prompt up.
	Answer bool
	// AllowChanges sends a text that the program's input box changes in a way that may alter
	// its meaning.
	AllowChanges bool
}

// target is where a delivery goes.
type target struct {
	terminal screen.Terminal
	book     Book   // nil: no account is kept
	id       string // of the delivery in it
}

// input writes input in one piece, noted as what it means.
func (to target) input(ctx context.Context, in inputlog.Input, p []byte) error {
	if to.book == nil {
		return to.terminal.Send(ctx, p)
	}
	return to.book.Type(ctx, in, p)
}

// Type delivers a prompt to the agent without an account: if the caller is cut off, the
// outcome cannot be found out. What a delivery left that was cut off must be out of the
// line and out of what is on its way to the program. Outcome and error are those of
// [Deliver].
func Type(ctx context.Context, t screen.Terminal, p Prompt, rules screen.Rules) (runtime.Outcome, error) {
	return target{terminal: t}.deliver(ctx, p, rules)
}

// deliver looks whether the prompt can be taken now, pastes it in one piece, waits until
// the paste is on the screen, presses Enter as the profile settles it, and waits for
// evidence. A refusal means that not a byte was sent. The text is sent once, whatever
// happens; Enter is pressed only while no other sender can have put anything into the
// input box, and repeated only while it holds exactly our text. The wait for the paste
// ends with its progress, and after echoLimit at the latest.
func (to target) deliver(ctx context.Context, p Prompt, rules screen.Rules) (runtime.Outcome, error) {
	if p.Text == "" {
		return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "empty"}, nil
	}
	w, err := screen.Follow(ctx, to.terminal)
	if err != nil {
		return Unsent(err)
	}
	defer w.Release()
	no, err := to.withoutReturned(ctx, w, p, rules)
	if err != nil {
		return Unsent(err)
	}
	line, harmless := rules.Screen.Prompt(p.Text)
	if p.Answer {
		line, harmless = p.Text, true // not for the input box
	}
	paste, odd := encode(w.View, line)
	changes := p.changes(rules.Screen)
	switch {
	case w.View.Exited:
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: screen.ErrExited.Error()}, nil
	case !harmless:
		return *refused(runtime.RefusedContent, "the program would run it as a shell command: it begins with %q", rules.Screen.Shell), nil
	case odd != nil:
		return *odd, nil
	case no != nil:
		return *no, nil
	case !p.AllowChanges && len(textchange.Harmful(changes)) > 0:
		return *refused(runtime.RefusedChanged, "%s", strings.Join(textchange.Texts(textchange.Harmful(changes)), "; ")), nil
	}
	d := &delivery{Watch: w, to: to, rules: rules, text: line, want: want(line), confirm: cmp.Or(p.Confirm, DefaultConfirm)}
	out, err := d.run(ctx, paste)
	if out.State == runtime.OutcomeSubmitted || out.State == runtime.OutcomeUnconfirmed {
		out.Changes = textchange.Texts(changes)
	}
	return out, err
}

// changes returns what the program's input box makes of the prompt. An answer does not go
// into it.
func (p Prompt) changes(s agentcli.Screen) []textchange.Change {
	if p.Answer {
		return nil
	}
	out := textchange.Of(s.Input, p.Text)
	if line, ok := s.Prompt(p.Text); ok && line != p.Text {
		out = append(out, textchange.Change{What: "a blank is put before the text, so that it is not run as a shell command", Harmless: true})
	}
	return out
}

// prepare looks whether a prompt may be delivered now and then keeps back what people type.
// A refusal that can be seen at once delays no other input.
func prepare(ctx context.Context, w *screen.Watch, p Prompt, rules screen.Rules) (*runtime.Outcome, error) {
	no, err := refuseFirmly(ctx, w, p, rules)
	if err != nil || no != nil {
		return no, err
	}
	if err := w.Hold(ctx); err != nil {
		return nil, err
	}
	return refuseFirmly(ctx, w, p, rules)
}

// delivery is one prompt between its first byte and its outcome.
type delivery struct {
	*screen.Watch
	to      target
	rules   screen.Rules
	text    string
	want    wanted // the text
	confirm time.Duration

	before screen.Frame // when the paste was sent
	human  time.Time    // when a person had last typed then
	echo   holding      // what the input box held when it had settled
	enter  pressed      // the last Enter
	typed  int          // how many there were
}

func (d *delivery) run(ctx context.Context, paste []byte) (runtime.Outcome, error) {
	d.before, d.human = d.View.Frame, d.View.LastHuman
	switch no, err := d.begin(ctx); {
	case no != nil:
		return *no, nil
	case err != nil:
		return Unsent(err)
	}
	switch err := d.to.input(ctx, inputlog.Text, paste); {
	case errors.Is(err, inputlog.ErrTouched):
		return *refused(runtime.RefusedTyping, "%v", err), nil
	case err != nil:
		return unconfirmed("the terminal did not take all of the text"), err
	}
	err := d.settle(ctx)
	if err == nil && d.noCommand() {
		return d.takeBack(ctx)
	}
	if err == nil {
		err = d.pressEnter(ctx)
	}
	var outcome runtime.Outcome
	if err == nil {
		outcome, err = d.evidence(ctx)
		outcome = d.ofCommand(outcome)
	}
	switch {
	case err == nil && outcome.State == runtime.OutcomeUnconfirmed && d.noCommand():
		return d.takeBack(ctx) // it was drawn behind Enter
	case err == nil:
		return outcome, nil
	case errors.Is(err, screen.ErrExited), errors.Is(err, errHeld):
		return unconfirmed("%v", err), nil
	case errors.Is(err, inputlog.ErrTouched):
		return unconfirmed("%v: %v", errHeld, err), nil
	default:
		return unconfirmed("given up after the text was sent"), err
	}
}

// begin notes the delivery. Where a person typed since the last one, an input box that
// looks empty may be an old picture, or hide what the person typed: it is proved to be empty.
func (d *delivery) begin(ctx context.Context) (*runtime.Outcome, error) {
	if d.to.book == nil {
		return nil, nil
	}
	if err := d.to.book.Begin(ctx, d.to.id, d.text, d.undo()); err != nil {
		return nil, err
	}
	if !d.knowsComposer() {
		return nil, nil
	}
	j, err := d.to.book.Account(ctx, d.to.id)
	if err == nil && d.silent() && j.Partial {
		return refused(runtime.RefusedDraft, "%s", unseenLine), nil
	}
	if err != nil || !j.Unread || d.silent() {
		return nil, err
	}
	no, err := proveEmpty(ctx, d.Watch, d.to, d.rules, j.Asked != nil && j.Asked.Behind)
	if errors.Is(err, inputlog.ErrTouched) {
		return refused(runtime.RefusedTyping, "%v", err), nil
	}
	if no == nil && err == nil {
		err = d.Renew(ctx) // text and Enter in one hold; who types in between is noticed with the text
	}
	d.before, d.human = d.View.Frame, d.View.LastHuman
	return no, err
}

// undo returns the keys that take the text out of the box again, none if that could do
// anything else: backspaces for a program that knows no clear key, the clear key, and pairs
// of backspace and clear key for one that removes a line at a time.
func (d *delivery) undo() []byte {
	if d.rules.Screen.ClearKey == "" || blind(d.rules) {
		return nil
	}
	key, err := clearing(d.View, d.rules)
	if err != nil {
		return nil
	}
	pair := append([]byte(backspace), key...)
	undo := bytes.Repeat([]byte(backspace), min(utf8.RuneCountInString(d.text)+completion, maxBackspaces))
	undo = append(undo, key...)
	return append(undo, bytes.Repeat(pair, min(rowsOf(d.text), maxUndo))...)
}

const (
	// completion is how many characters a completion may add to a text.
	completion = 256
	// minColumns is how many bytes of a text fill a row of an input box at least.
	minColumns = 40
	// maxUndo bounds how often the clear key is sent unseen: a longer text is shown by
	// something that goes at once, or in part.
	maxUndo = 200
)

// rowsOf is how many rows a text may fill in an input box.
func rowsOf(text string) int { return 1 + strings.Count(text, "\n") + len(text)/minColumns }

func unconfirmed(format string, args ...any) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: fmt.Sprintf(format, args...)}
}

const (
	// echoQuiet is how long a program that has read a paste may take to show
	// something of it, and longer by echoRate for each byte.
	echoQuiet = 2 * time.Second
	echoRate  = time.Second / (64 << 10)
	// echoLimit bounds the wait for a text that does not come up, beyond that.
	echoLimit = time.Minute
	// blindQuiet is the same for a program whose input box is not known: it may
	// show nothing at all.
	blindQuiet = 500 * time.Millisecond
	// maxSettle bounds the wait for a screen that never rests, in multiples of
	// the rest that is waited for.
	maxSettle = 8
)

// settle waits until the paste is on the screen and has rested there as the
// profile says.
func (d *delivery) settle(ctx context.Context) error {
	if d.silent() {
		if err := step(ctx, d.Watch); err != nil {
			return err
		}
		if d.silent() { // nothing will show
			return d.disturbed()
		}
	}
	patience := echoQuiet
	if !d.knowsComposer() {
		patience = blindQuiet
	}
	patience += time.Duration(len(d.text)) * echoRate
	shown, since := d.settling(), time.Now()
	for end := since.Add(echoLimit + patience); !d.echoed() && time.Since(since) < patience; {
		if time.Now().After(end) {
			return fmt.Errorf("%w: the program does not show the text", errHeld)
		}
		if err := step(ctx, d.Watch); err != nil {
			return err
		}
		if err := d.disturbed(); err != nil {
			return err
		}
		if now := d.settling(); now != shown || d.View.Input == screen.InputWaiting { // progress
			shown, since = now, time.Now()
		}
	}
	if err := d.rest(ctx, d.rules.Screen.SettleFor(len(d.text))); err != nil || !d.loading() {
		return err
	}
	return d.loaded(ctx)
}

// loading reports whether the program may lose what is typed now.
func (d *delivery) loading() bool { return d.View.Shows(d.rules.Screen.Loading) }

// loadLimit is how long a text waits for its Enter while the program loads.
const loadLimit = 15 * time.Second

// loaded waits until the program does not load any more and has come to rest: the text may
// be gone then.
func (d *delivery) loaded(ctx context.Context) error {
	for end := time.Now().Add(loadLimit); d.loading(); {
		if time.Now().After(end) {
			return fmt.Errorf("%w: the program is loading", errHeld)
		}
		if _, err := d.Next(ctx, time.Until(end)); err != nil {
			return err
		}
		if err := d.disturbed(); err != nil {
			return err
		}
	}
	return d.rest(ctx, d.rules.Screen.SettleFor(len(d.text)))
}

// echoed reports whether the paste is on the screen.
func (d *delivery) echoed() bool {
	switch d.holds() {
	case holdsOurs, holdsMore:
		return true
	case holdsNothing:
		return false
	default:
		return !slices.Equal(d.before.Rows, d.View.Rows)
	}
}

// rest waits for delay, and until what matters has not changed for quiet.
func (d *delivery) rest(ctx context.Context, rule agentcli.Settle) error {
	delay, quiet := time.Duration(rule.DelayMs)*time.Millisecond, time.Duration(rule.QuietMs)*time.Millisecond
	if d.holds() == holdsOther && quiet == 0 { // it may still be painting
		quiet = time.Duration(agentcli.DefaultSettle().QuietMs) * time.Millisecond
	}
	began := time.Now()
	calm, end := began.Add(max(delay, quiet)), began.Add(delay+maxSettle*quiet)
	state := d.settling()
	for {
		if err := d.disturbed(); err != nil {
			return err
		}
		now := time.Now()
		if !now.Before(calm) || !now.Before(end) {
			return nil
		}
		changed, err := d.Next(ctx, min(calm.Sub(now), end.Sub(now)))
		if err != nil {
			return err
		}
		if s := d.settling(); changed && s != state {
			state = s
			if c := time.Now().Add(quiet); c.After(calm) {
				calm = c
			}
		}
	}
}

// settling is what must come to rest: the content of the input box, or the
// screen if that cannot be read.
func (d *delivery) settling() string {
	if c := d.composer(); c.Found {
		return c.Content
	}
	return strings.Join(d.View.Rows, "\n")
}

func (d *delivery) composer() screen.Composer { return d.View.Composer(d.rules.Screen.Composer) }

func (d *delivery) holds() holding {
	return holds(d.composer(), d.want, d.rules.Screen.Composer)
}

// knowsComposer reports whether the program's input box was recognised before
// the paste.
func (d *delivery) knowsComposer() bool {
	c := screen.Look(d.before).Composer(d.rules.Screen.Composer)
	return c.Found && !c.Above
}

// disturbed says what has come between the text and its Enter; nil if nothing.
func (d *delivery) disturbed() error {
	switch {
	case d.View.Exited:
		return screen.ErrExited
	case d.View.LastHuman.After(d.human):
		return fmt.Errorf("%w: a person typed in between", errHeld)
	case d.holds() == holdsOurs:
		return nil // what looks like a menu is our own text
	}
	if dialog := d.View.Dialog(d.rules); dialog != nil {
		return fmt.Errorf("%w: a dialog came up (%s)", errHeld, dialog.Kind)
	}
	return nil
}

// mayEnter says why Enter must not be pressed; nil if it may. It may if the
// input box holds our text, or if only gc can have put anything there.
func (d *delivery) mayEnter() error {
	if err := d.disturbed(); err != nil {
		return err
	}
	d.echo = d.holds()
	switch {
	case d.echo == holdsOurs, d.silent() && d.echo == holdsNothing:
		return nil
	case d.echo == holdsMore:
		return fmt.Errorf("%w: the input box holds more than the text", errHeld)
	case d.echo == holdsNothing && d.knowsComposer():
		return fmt.Errorf("%w: the text did not appear in the input box", errHeld)
	case d.knowsComposer() && d.View.Attached > 0:
		return fmt.Errorf("%w: the input box cannot be distinguished from what an attached person may have typed", errHeld)
	}
	return nil
}
