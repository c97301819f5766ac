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
	journal  Journal // nil: no account is kept
	id       string  // of the delivery in it
}

// input writes input in one piece, noted as what it means.
func (to target) input(ctx context.Context, in inputlog.Input, p []byte) error {
	if to.journal == nil {
		return to.terminal.Send(ctx, p)
	}
	return to.journal.Type(ctx, in, p)
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
	w, err := screen.NewWatcher(ctx, to.terminal)
	if err != nil {
		return Unsent(err)
	}
	defer w.Release()
	no, err := to.withoutReturned(ctx, w, p, rules)
	if err != nil {
		return Unsent(err)
	}
	line, harmless := rules.Screen.Prompt(p.Text)
	if p.AllowChanges && line == p.Text && rules.Screen.IsShell(textchange.Without(rules.Screen.Input, p.Text)) {
		harmless = false // its first characters do not arrive
	}
	if p.Answer {
		line, harmless = p.Text, true // not for the input box
	}
	paste, odd := encode(w.Snapshot, line)
	changes := p.changes(rules.Screen)
	switch {
	case w.Snapshot.Exited:
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: screen.ErrExited.Error()}, nil
	case !harmless:
		return *refused(runtime.RefusedContent, "the program would run it as a shell command: it begins with %q", rules.Screen.Shell), nil
	case odd != nil:
		return *odd, nil
	case no != nil:
		return *no, nil
	case p.AllowChanges && slices.ContainsFunc(changes, func(c textchange.Change) bool { return c.Refused }):
		return *refused(runtime.RefusedContent, "%s", strings.Join(textchange.Texts(textchange.Harmful(changes)), "; ")), nil
	case !p.AllowChanges && len(textchange.Harmful(changes)) > 0:
		return *refused(runtime.RefusedChanged, "%s", strings.Join(textchange.Texts(textchange.Harmful(changes)), "; ")), nil
	}
	d := &delivery{Watcher: w, to: to, rules: rules, text: line, want: want(line), confirm: cmp.Or(p.Confirm, DefaultConfirm)}
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
func prepare(ctx context.Context, w *screen.Watcher, p Prompt, rules screen.Rules) (*runtime.Outcome, error) {
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
	*screen.Watcher
	to      target
	rules   screen.Rules
	text    string
	want    wanted // the text
	confirm time.Duration

	before     screen.Frame // when the paste was sent
	humanInput time.Time    // when a person had last typed then
	echo       contentMatch // what the input box held when it had settled
	enter      pressed      // the last Enter
	typed      int          // how many there were
}

func (d *delivery) run(ctx context.Context, paste []byte) (runtime.Outcome, error) {
	d.before, d.humanInput = d.Snapshot.Frame, d.Snapshot.LastHuman
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
	err := d.waitForEcho(ctx)
	if err == nil && d.noCommand() {
		return d.clearUnknownCommand(ctx)
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
		return d.clearUnknownCommand(ctx) // it was drawn behind Enter
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

// begin records the delivery. Where a person typed since the last one, an input box that
// looks empty may be an old picture, or hide what the person typed: it is proved to be empty.
func (d *delivery) begin(ctx context.Context) (*runtime.Outcome, error) {
	if d.to.journal == nil {
		return nil, nil
	}
	if err := d.to.journal.Begin(ctx, d.to.id, d.text, d.undo()); err != nil {
		return nil, err
	}
	if !d.hasKnownInputBox() {
		return nil, nil
	}
	j, err := d.to.journal.Account(ctx, d.to.id)
	if err == nil && d.silent() && j.Partial {
		return refused(runtime.RefusedDraft, "%s", unseenLine), nil
	}
	if err != nil || !j.Unread || d.silent() {
		return nil, err
	}
	no, err := proveEmpty(ctx, d.Watcher, d.to, d.rules, j.Asked != nil && j.Asked.Behind)
	if errors.Is(err, inputlog.ErrTouched) {
		return refused(runtime.RefusedTyping, "%v", err), nil
	}
	if no == nil && err == nil {
		err = d.Renew(ctx) // text and Enter in one hold; who types in between is noticed with the text
	}
	d.before, d.humanInput = d.Snapshot.Frame, d.Snapshot.LastHuman
	return no, err
}

// undo returns the keys that take the text out of the box again, none if that could do
// anything else: backspaces for a program that knows no clear key, the clear key, and pairs
// of backspace and clear key for one that removes a line at a time.
func (d *delivery) undo() []byte {
	if d.rules.Screen.ClearKey == "" || isBlind(d.rules) {
		return nil
	}
	key, err := clearing(d.Snapshot, d.rules)
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

// rowsOf returns how many rows a text may fill in an input box.
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
	// maxScreenWait bounds the wait for a screen that never rests, in multiples of
	// the rest that is waited for.
	maxScreenWait = 8
)

// waitForEcho waits until the paste is on the screen and has rested there as the
// profile says.
func (d *delivery) waitForEcho(ctx context.Context) error {
	if d.silent() {
		if err := step(ctx, d.Watcher); err != nil {
			return err
		}
		if d.silent() { // nothing will show
			return d.disturbed()
		}
	}
	patience := echoQuiet
	if !d.hasKnownInputBox() {
		patience = blindQuiet
	}
	patience += time.Duration(len(d.text)) * echoRate
	shown, since := d.visibleContent(), time.Now()
	for end := since.Add(echoLimit + patience); !d.echoed() && time.Since(since) < patience; {
		if time.Now().After(end) {
			return fmt.Errorf("%w: the program does not show the text", errHeld)
		}
		if err := step(ctx, d.Watcher); err != nil {
			return err
		}
		if err := d.disturbed(); err != nil {
			return err
		}
		if now := d.visibleContent(); now != shown || d.Snapshot.Input == screen.InputWaiting { // progress
			shown, since = now, time.Now()
		}
	}
	if err := d.waitQuiet(ctx, d.rules.Screen.FindSettle(len(d.text))); err != nil || !d.loading() {
		return err
	}
	return d.loaded(ctx)
}

// loading reports whether the program may lose what is typed now.
func (d *delivery) loading() bool { return d.Snapshot.Shows(d.rules.Screen.Loading) }

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
	return d.waitQuiet(ctx, d.rules.Screen.FindSettle(len(d.text)))
}

// echoed reports whether the paste is on the screen.
func (d *delivery) echoed() bool {
	switch d.compareBox() {
	case matchOurs, matchMore:
		return true
	case matchEmpty:
		return false
	default:
		return !slices.Equal(d.before.Rows, d.Snapshot.Rows)
	}
}

// waitQuiet waits for delay, and until what matters has not changed for quiet.
func (d *delivery) waitQuiet(ctx context.Context, rule agentcli.Settle) error {
	delay, quiet := time.Duration(rule.DelayMs)*time.Millisecond, time.Duration(rule.QuietMs)*time.Millisecond
	if d.compareBox() == matchOther && quiet == 0 { // it may still be painting
		quiet = time.Duration(agentcli.DefaultSettle().QuietMs) * time.Millisecond
	}
	began := time.Now()
	calm, end := began.Add(max(delay, quiet)), began.Add(delay+maxScreenWait*quiet)
	state := d.visibleContent()
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
		if s := d.visibleContent(); changed && s != state {
			state = s
			if c := time.Now().Add(quiet); c.After(calm) {
				calm = c
			}
		}
	}
}

// visibleContent returns what must come to rest: the content of the input box, or the
// screen if that cannot be read.
func (d *delivery) visibleContent() string {
	if c := d.inputBox(); c.Found {
		return c.Content
	}
	return strings.Join(d.Snapshot.Rows, "\n")
}

func (d *delivery) inputBox() screen.InputBox { return d.Snapshot.InputBox(d.rules.Screen.InputBox) }

func (d *delivery) compareBox() contentMatch {
	return compareContent(d.inputBox(), d.want, d.rules.Screen.InputBox)
}

// hasKnownInputBox reports whether the program's input box was recognised before
// the paste.
func (d *delivery) hasKnownInputBox() bool {
	c := screen.NewSnapshot(d.before).InputBox(d.rules.Screen.InputBox)
	return c.Found && !c.Above
}

// disturbed says what has come between the text and its Enter; nil if nothing.
func (d *delivery) disturbed() error {
	switch {
	case d.Snapshot.Exited:
		return screen.ErrExited
	case d.Snapshot.LastHuman.After(d.humanInput):
		return fmt.Errorf("%w: a person typed in between", errHeld)
	case d.compareBox() == matchOurs:
		return nil // what looks like a menu is our own text
	}
	if dialog := d.Snapshot.Dialog(d.rules); dialog != nil {
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
	d.echo = d.compareBox()
	switch {
	case d.echo == matchOurs, d.silent() && d.echo == matchEmpty:
		return nil
	case d.echo == matchMore:
		return fmt.Errorf("%w: the input box holds more than the text", errHeld)
	case d.echo == matchEmpty && d.hasKnownInputBox():
		return fmt.Errorf("%w: the text did not appear in the input box", errHeld)
	case d.hasKnownInputBox() && d.Snapshot.Attached > 0:
		return fmt.Errorf("%w: the input box cannot be distinguished from what an attached person may have typed", errHeld)
	}
	return nil
}
