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
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// DefaultConfirm is the default of Prompt.Confirm.
const DefaultConfirm = 5 * time.Second

// Prompt is a text to deliver.
type Prompt struct {
	Text string
	// Confirm is the longest wait for evidence after Enter; zero means DefaultConfirm.
	Confirm time.Duration
	// Answer: the text is the answer that the program waits for, by its own report. Other prompts are refused then.
	Answer bool
	// AllowChanges delivers a text even if the program's input box changes it in a way that may alter its meaning.
	AllowChanges bool
}

// target is the terminal, with its journal, of one delivery.
type target struct {
	Lease

	id string // the ID of the delivery in the journal
}

// deliver checks whether the program accepts the prompt now, pastes it in one piece, waits until the paste is on the
// screen, presses Enter and waits for evidence. A refusal means that nothing was sent.
//
// The text is sent only once. Enter is pressed only while no other sender can have put anything into the input box. It is
// repeated only while the box contains exactly the text. The wait for the paste ends when it makes no progress, and
// after echoLimit at the latest.
func (to target) deliver(ctx context.Context, p Prompt, rules screen.Rules) (runtime.Outcome, error) {
	w, err := screen.NewWatcher(ctx, to.Lease)
	if err != nil {
		return Unsent(err)
	}
	defer w.Release()
	no, err := to.prepareWithoutReturned(ctx, w, p, rules)
	if err != nil {
		return Unsent(err)
	}
	line, harmless := rules.Screen.Prompt(p.Text)
	if p.AllowChanges && line == p.Text && rules.Screen.IsShell(WithoutRemoved(rules.Screen.Input, p.Text)) {
		harmless = false // without the characters that do not arrive, it is a shell command
	}
	if p.Answer {
		line, harmless = p.Text, true // it does not go into the input box
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
	case p.AllowChanges && slices.ContainsFunc(changes, func(c TextChange) bool { return c.Refused }):
		return *refused(runtime.RefusedContent, "%s", strings.Join(ChangeTexts(HarmfulChanges(changes)), "; ")), nil
	case !p.AllowChanges && len(HarmfulChanges(changes)) > 0:
		return *refused(runtime.RefusedChanged, "%s", strings.Join(ChangeTexts(HarmfulChanges(changes)), "; ")), nil
	}
	d := &delivery{Watcher: w, to: to, rules: rules, text: line, want: want(line), confirm: cmp.Or(p.Confirm, DefaultConfirm)}
	out, err := d.run(ctx, paste)
	if out.State == runtime.OutcomeSubmitted || out.State == runtime.OutcomeUnconfirmed {
		out.Changes = ChangeTexts(changes)
	}
	return out, err
}

// changes returns the changes that the program's input box makes to the prompt. It returns none for an answer, which does
// not go into the input box.
func (p Prompt) changes(s agentcli.Screen) []TextChange {
	if p.Answer {
		return nil
	}
	out := TextChanges(s.Input, p.Text)
	if line, ok := s.Prompt(p.Text); ok && line != p.Text {
		out = append(out, TextChange{What: "a blank is put before the text, so that it is not run as a shell command", Harmless: true})
	}
	return out
}

// prepare checks whether a prompt may be delivered now, holds the keys of people and checks again. It returns the refusal,
// or nil. A refusal by the first check does not delay people's keys.
func prepare(ctx context.Context, w *screen.Watcher, p Prompt, rules screen.Rules) (*runtime.Outcome, error) {
	no, err := refuseStable(ctx, w, p, rules)
	if err != nil || no != nil {
		return no, err
	}
	if err := w.Hold(ctx); err != nil {
		return nil, err
	}
	return refuseStable(ctx, w, p, rules)
}

// delivery is the delivery of one prompt, from its first byte to its outcome.
type delivery struct {
	*screen.Watcher
	to      target
	rules   screen.Rules
	text    string
	want    wanted // the text
	confirm time.Duration

	before     screen.Frame // the frame before the paste
	humanInput time.Time    // the time of a person's last input in that frame
	echo       contentMatch // the content of the input box before Enter
	enter      pressed      // the last Enter
	typed      int          // the number of Enter keys that were sent
}

// run logs the delivery, sends the paste, presses Enter and returns the outcome.
func (d *delivery) run(ctx context.Context, paste []byte) (runtime.Outcome, error) {
	d.before, d.humanInput = d.Snapshot.Frame, d.Snapshot.LastHuman
	switch no, err := d.begin(ctx); {
	case no != nil:
		return *no, nil
	case err != nil:
		return Unsent(err)
	}
	switch err := d.to.Type(ctx, InputText, paste); {
	case errors.Is(err, ErrTouched):
		return *refused(runtime.RefusedTyping, "%v", err), nil
	case err != nil:
		return unconfirmed("the terminal did not accept all of the text"), err
	}
	err := d.waitForEcho(ctx)
	if err == nil && d.isUnknownCommand() {
		return d.clearUnknownCommand(ctx)
	}
	if err == nil {
		err = d.pressEnter(ctx)
	}
	var outcome runtime.Outcome
	if err == nil {
		outcome, err = d.evidence(ctx)
		outcome = d.addCommandSign(outcome)
	}
	switch {
	case err == nil && outcome.State == runtime.OutcomeUnconfirmed && d.isUnknownCommand():
		return d.clearUnknownCommand(ctx) // the program showed it only after Enter
	case err == nil:
		return outcome, nil
	case errors.Is(err, screen.ErrExited), errors.Is(err, errHeld):
		return unconfirmed("%v", err), nil
	case errors.Is(err, ErrTouched):
		return unconfirmed("%v: %v", errHeld, err), nil
	default:
		return unconfirmed("the delivery was stopped after the text was sent and before a signal showed that the agent accepted it"), err
	}
}

// begin records the delivery in the journal, and refuses it if the input box may contain text of a person. What the screen
// shows is not enough for that, because it may be outdated, or the box may hide what was typed:
//   - In a box that gc does not know, the delivery is refused if the last input was not finished by Enter.
//   - If the program shows nothing of what is typed (silent), the delivery is refused if the last input may be an unfinished line.
//   - Otherwise, if anybody but gc has typed since the last delivery (Unread), the box must be proved empty.
//
// It returns the refusal, or nil.
func (d *delivery) begin(ctx context.Context) (*runtime.Outcome, error) {
	if err := d.to.Begin(ctx, d.to.id, d.text, d.undo()); err != nil {
		return nil, err
	}
	j, err := d.to.Account(ctx, d.to.id)
	if !d.hasKnownInputBox() {
		if err == nil && j.Unfinished {
			return refused(runtime.RefusedDraft, "%s", unfinishedLine), nil
		}
		return nil, err
	}
	if err == nil && d.silent() && j.Partial {
		return refused(runtime.RefusedDraft, "%s", unseenLine), nil
	}
	if err != nil || !j.Unread || d.silent() {
		return nil, err
	}
	no, err := proveEmpty(ctx, d.Watcher, d.to, d.rules, j.Asked != nil && j.Asked.Behind)
	if errors.Is(err, ErrTouched) {
		return refused(runtime.RefusedTyping, "%v", err), nil
	}
	if no == nil && err == nil {
		err = d.Renew(ctx) // one hold for text and Enter; input in between is noticed when the text is sent
	}
	d.before, d.humanInput = d.Snapshot.Frame, d.Snapshot.LastHuman
	return no, err
}

// undo returns the keys that remove the text from the input box: backspaces for a program without a clear key, the clear
// key, and pairs of backspace and clear key for a program whose clear key removes one line. It returns none if the
// keys could have another effect.
func (d *delivery) undo() []byte {
	if d.rules.Screen.ClearKey == "" || isBlind(d.rules) {
		return nil
	}
	key, err := clearKeys(d.Snapshot, d.rules)
	if err != nil {
		return nil
	}
	pair := append([]byte(backspace), key...)
	undo := bytes.Repeat([]byte(backspace), min(utf8.RuneCountInString(d.text)+completion, maxBackspaces))
	undo = append(undo, key...)
	return append(undo, bytes.Repeat(pair, min(rowsOf(d.text), maxUndo))...)
}

const (
	// completion is the largest number of characters that a completion of the program may add to a text.
	completion = 256
	// minColumns is the smallest number of bytes of a text in a full row of an input box.
	minColumns = 40
	// maxUndo is the limit of clear keys that are sent without a look at the screen. Programs show a longer text as a
	// placeholder, which one key removes, or in part.
	maxUndo = 200
)

// rowsOf returns the number of rows that a text may fill in an input box.
func rowsOf(text string) int { return 1 + strings.Count(text, "\n") + len(text)/minColumns }

// unconfirmed returns an outcome with the state unconfirmed and the formatted detail.
func unconfirmed(format string, args ...any) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: fmt.Sprintf(format, args...)}
}

const (
	// echoQuiet is the longest time without progress after which the wait for a paste ends, plus echoRate for each
	// byte.
	echoQuiet = 2 * time.Second
	echoRate  = time.Second / (64 << 10)
	// echoLimit is the limit of the whole wait for a paste, in addition to echoQuiet and echoRate.
	echoLimit = time.Minute
	// blindQuiet replaces echoQuiet for a program whose input box is not known: it may show nothing at all.
	blindQuiet = 500 * time.Millisecond
	// maxScreenWait limits the wait for a screen that always changes, as a multiple of the required quiet time.
	maxScreenWait = 8
)

// waitForEcho waits until the paste is on the screen and the screen has not changed for the time in the profile. It
// returns an error if Enter must not be pressed.
func (d *delivery) waitForEcho(ctx context.Context) error {
	if d.silent() {
		if err := step(ctx, d.Watcher); err != nil {
			return err
		}
		if d.silent() { // the terminal does not echo
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
			return fmt.Errorf("%w: the agent's program does not show the typed text on its screen", errHeld)
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
	rule := d.rules.Screen.FindSettle(len(d.text))
	if d.isCommand() {
		rule.QuietMs = max(rule.QuietMs, commandQuietMs)
	}
	if err := d.waitQuiet(ctx, rule); err != nil || !d.loading() {
		return err
	}
	return d.awaitLoaded(ctx)
}

// commandQuietMs is the quiet time of the whole screen before Enter for a command. A program may list commands while the
// text is typed, and Enter runs the first one of the list, which may be that for an earlier text (gemini: /clear).
const commandQuietMs = 500

// loading reports whether the program is loading: it may lose what is typed now.
func (d *delivery) loading() bool { return d.Snapshot.Shows(d.rules.Screen.Loading) }

// loadLimit is the longest time that Enter is delayed while the program loads.
const loadLimit = 15 * time.Second

// awaitLoaded waits until the program has finished loading and its screen is stable. Text that is sent while it loads may be
// lost.
func (d *delivery) awaitLoaded(ctx context.Context) error {
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

// waitQuiet waits for the rule's delay, and until the visible content has not changed for the rule's quiet time.
func (d *delivery) waitQuiet(ctx context.Context, rule agentcli.Settle) error {
	delay, quiet := time.Duration(rule.DelayMs)*time.Millisecond, time.Duration(rule.QuietMs)*time.Millisecond
	if d.compareBox() != matchOurs && quiet == 0 { // the program may still be drawing
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

// visibleContent returns the text in which the delivery looks for changes: the content of the input box, or the whole
// screen if the box is not found or the prompt is a command of the agent CLI.
func (d *delivery) visibleContent() string {
	if c := d.inputBox(); c.Found && !d.isCommand() {
		return c.Content
	}
	return strings.Join(d.Snapshot.Rows, "\n")
}

// inputBox returns the input box of the current snapshot.
func (d *delivery) inputBox() screen.InputBox { return d.Snapshot.InputBox(d.rules.Screen.InputBox) }

// compareBox compares the content of the input box with the text. If a dialog has appeared since Enter, what looks like the
// input box may be the prompt in the conversation above the dialog.
func (d *delivery) compareBox() contentMatch {
	if d.typed > 0 && !d.enter.dialog && d.Snapshot.Dialog(d.rules) != nil {
		return matchOther
	}
	return compareContent(d.inputBox(), d.want, d.rules.Screen.InputBox)
}

// hasKnownInputBox reports whether gc recognized the program's input box on the screen before the text was sent.
func (d *delivery) hasKnownInputBox() bool {
	c := screen.NewSnapshot(d.before).InputBox(d.rules.Screen.InputBox)
	return c.Found && !c.Above
}

// disturbed returns the reason, as an error, why the delivery must not continue after its text was sent: the program has
// exited, a person has typed, or a dialog has appeared. It returns nil if none of these has happened.
func (d *delivery) disturbed() error {
	switch {
	case d.Snapshot.Exited:
		return screen.ErrExited
	case d.Snapshot.LastHuman.After(d.humanInput):
		return fmt.Errorf("%w: a person typed in between", errHeld)
	case d.compareBox() == matchOurs:
		return nil // the text itself may look like a menu
	}
	if dialog := d.Snapshot.Dialog(d.rules); dialog != nil {
		return fmt.Errorf("%w: a dialog appeared (%s)", errHeld, dialog.Kind)
	}
	return nil
}

// mayEnter returns an error with the reason if Enter must not be pressed, and nil otherwise. Enter may be pressed if the
// input box contains the text, or if only gc can have put anything into it.
func (d *delivery) mayEnter() error {
	if err := d.disturbed(); err != nil {
		return err
	}
	d.echo = d.compareBox()
	switch {
	case d.echo == matchOurs, d.silent() && d.echo == matchEmpty:
		return nil
	case d.echo == matchMore:
		return fmt.Errorf("%w: the input box contains other text besides the prompt", errHeld)
	case d.echo == matchEmpty && d.hasKnownInputBox():
		return fmt.Errorf("%w: the text did not appear in the input box", errHeld)
	case d.hasKnownInputBox() && d.Snapshot.Attached > 0:
		return fmt.Errorf("%w: the input box does not show the prompt; an attached person may have typed what it contains", errHeld)
	}
	return nil
}
