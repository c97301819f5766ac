package inject

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

const (
	// emptyConfirm is the time that an input box must stay empty to count as emptied: the program may be redrawing.
	emptyConfirm = 20 * time.Millisecond
	// closedConfirm is the time that a line must stay closed to count as accepted: a program that exits closes it too.
	closedConfirm = 100 * time.Millisecond
	// turnShown is the longest time that a program may take to show a turn. It is used if the next prompt must not be
	// typed during a turn.
	turnShown = 3 * time.Second
	// againPainted and againSilent are the times after which Enter may be repeated: againPainted if the program has
	// drawn something since Enter, againSilent if not. A silent program may be about to draw something that the second
	// Enter would confirm.
	againPainted = 400 * time.Millisecond
	againSilent  = 1500 * time.Millisecond
	// maxEnter is the limit of Enter keys for one prompt.
	maxEnter = 3
)

// pressed is one press of Enter, with the state of the screen before it.
type pressed struct {
	at     time.Time
	frame  screen.Frame
	busy   bool
	dialog bool // the text in the input box looks like a dialog
	status string
	loaded bool // the program has loaded since: an empty input box proves nothing
}

// maxEnterAttempts is the limit of attempts to send Enter for an unchanged screen. For a program that draws all the time
// the last attempt sends Enter without this condition.
const maxEnterAttempts = 20

// pressEnter sends Enter as a separate piece of input, directly after it has read the screen again: a dialog may have
// appeared since the text was stable. If the terminal supports it, Enter is sent only if the screen has not changed
// since.
func (d *delivery) pressEnter(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		if err := d.Hold(ctx); err != nil {
			return err
		}
		err := d.Refresh(ctx)
		if err == nil {
			err = d.mayEnter()
		}
		if err != nil && d.disturbed() == nil && ctx.Err() == nil { // the program may be drawing
			if err := d.waitQuiet(ctx, d.rules.Screen.FindSettle(len(d.text))); err != nil {
				return err
			}
			err = d.mayEnter()
		}
		if err != nil {
			return err
		}
		err = d.sendEnter(ctx, attempt < maxEnterAttempts)
		if !errors.Is(err, ErrChanged) {
			return err
		}
	}
}

// sendEnter sends Enter. If seen is true and the journal supports it, Enter is sent only if the screen is still that of
// the snapshot, and the error is ErrChanged otherwise.
func (d *delivery) sendEnter(ctx context.Context, seen bool) error {
	before := d.enter
	d.enter = pressed{
		at: time.Now(), frame: d.Snapshot.Frame, status: d.Snapshot.Program().State,
		busy:   d.Snapshot.Busy(d.rules.Screen, d.inputBox()) != "",
		dialog: d.Snapshot.Dialog(d.rules) != nil,
	}
	p, err := vt.Key("Enter", d.Snapshot.Modes)
	if err != nil {
		return err
	}
	in := InputEnter
	if d.hasKnownInputBox() && strings.TrimSpace(d.inputBox().Content) != "" {
		in = InputSeen
	}
	if journal, ok := d.to.Lease.(SeenJournal); ok && seen {
		err = journal.TypeSeen(ctx, d.Snapshot.Seq, in, p)
	} else {
		err = d.to.Type(ctx, in, p)
	}
	if errors.Is(err, ErrChanged) {
		d.enter = before
		return err
	}
	d.typed++
	return err
}

// evidence is called after Enter was pressed. It waits until the screen proves that the agent has accepted the prompt, and
// returns the outcome: submitted with the signals that prove it, or unconfirmed with the reason. It repeats Enter if the
// text stays in the input box.
func (d *delivery) evidence(ctx context.Context) (runtime.Outcome, error) {
	switch {
	case d.silent() && d.echo == matchEmpty, d.isKernelLine():
		return d.lineRead(ctx)
	case !d.provable():
		return d.reaction(ctx)
	}
	end := time.Now().Add(d.confirm)
	for {
		changed, err := d.Next(ctx, min(time.Until(end), d.untilRepeat()))
		if err == nil && !changed {
			err = d.refresh(ctx)
		}
		if err != nil {
			return runtime.Outcome{}, err
		}
		if d.Snapshot.Exited {
			return runtime.Outcome{}, screen.ErrExited
		}
		proof, err := d.proof(ctx)
		if err != nil {
			return runtime.Outcome{}, err
		}
		if proof != "" {
			return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: proof}, nil
		}
		if time.Until(end) <= 0 || d.isUnknownCommand() {
			return d.noEvidence(), nil
		}
		if !changed && d.mayRepeat() {
			if err := d.repeatEnter(ctx); err != nil {
				return runtime.Outcome{}, err
			}
		}
	}
}

// signCommand is added to the evidence of an input that may be a command of the program itself. Such an input may be
// accepted without starting a turn.
const signCommand = "command"

// addCommandSign adds signCommand to the evidence if the text may be a command. Some programs look busy for a moment
// when they run a command, so a busy sign does not prove a turn.
func (d *delivery) addCommandSign(out runtime.Outcome) runtime.Outcome {
	if out.State == runtime.OutcomeSubmitted && d.isCommand() {
		out.Evidence += "+" + signCommand
	}
	return out
}

// repeatEnter presses Enter again. It does nothing if the screen has changed so that Enter must not be repeated, or if
// the program has not read the last Enter: a program that reads both at once may accept the text twice.
func (d *delivery) repeatEnter(ctx context.Context) error {
	if err := d.Hold(ctx); err != nil || !d.mayRepeat() {
		return err
	}
	now, err := d.Terminal.Frame(ctx, 0)
	if err != nil || now.Input == screen.InputWaiting {
		return err
	}
	return d.pressEnter(ctx)
}

// provable reports whether this program's screen can show that a prompt was accepted.
func (d *delivery) provable() bool {
	s := d.rules.Screen
	return d.hasKnownInputBox() || len(s.TitleBusy) > 0 && d.Snapshot.Title != "" || d.before.Status.Text != "" ||
		s.InputBox.Frame == "" && len(s.Busy) > 0
}

// reaction is called after Enter for a program whose screen gc cannot interpret. It waits for a sign that the program
// accepted the prompt, and returns the state unconfirmed if none proves that.
func (d *delivery) reaction(ctx context.Context) (runtime.Outcome, error) {
	end := time.Now().Add(min(blindQuiet, d.confirm))
	for {
		changed, err := d.Next(ctx, time.Until(end))
		if err != nil {
			return runtime.Outcome{}, err
		}
		proof, err := d.proof(ctx)
		switch {
		case err != nil:
			return runtime.Outcome{}, err
		case d.Snapshot.Exited:
			return runtime.Outcome{}, screen.ErrExited
		case proof != "":
			return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: proof}, nil
		case !changed:
			if asks := screen.NewSnapshot(d.before).LineQuestion(d.rules); asks != "" {
				return unconfirmed("the program seemed to ask: %s, and may have taken the prompt as the answer; with ready_prompt_prefix, prompts wait while it asks", asks), nil
			}
			return unconfirmed("gc has no profile to interpret this program's screen"), nil
		}
	}
}

// proof returns the evidence on the screen that the prompt was accepted; empty if there is none.
func (d *delivery) proof(ctx context.Context) (string, error) {
	edge := d.edge()
	d.enter.loaded = d.enter.loaded || d.loading()
	if d.lineClosed() { // the program may still show the line that it has accepted
		return d.lasting(ctx, "line_accepted", d.lineClosed, closedConfirm)
	}
	if d.hasKnownInputBox() && d.compareBox() == matchOurs {
		return "", nil // a turn of another text may have begun
	}
	switch {
	case d.emptied() && edge != "":
		return "composer_emptied+" + edge, nil
	case d.emptied() && d.rules.Screen.EnterWhileBusy == agentcli.BusyMerges && !d.isCommand():
		return d.lasting(ctx, "composer_emptied", d.emptied, turnShown)
	case d.emptied():
		return d.lasting(ctx, "composer_emptied", d.emptied, emptyConfirm)
	case edge != "":
		return edge, nil
	}
	return "", nil
}

// lasting checks that a signal is not only a moment of a redraw: it returns sign if the function holds returns true for the
// whole time wait, and "" otherwise. If a turn begins during that time, it adds the sign of the turn and returns at once.
func (d *delivery) lasting(ctx context.Context, sign string, holds func() bool, wait time.Duration) (string, error) {
	for end := time.Now().Add(wait); ; {
		changed, err := d.Next(ctx, time.Until(end))
		if err == nil && !changed {
			err = d.refresh(ctx)
		}
		switch {
		case err != nil:
			return "", err
		case d.Snapshot.Exited, !holds():
			return "", nil
		case d.edge() != "":
			return sign + "+" + d.edge(), nil
		case !changed:
			return sign, nil
		}
	}
}

// lineClosed reports whether a program with a plain prompt has accepted its line. A line editor turns bracketed paste
// off when it accepts a line, or turns on the kernel's line editing again.
func (d *delivery) lineClosed() bool {
	return d.rules.Screen.InputBox.Frame == agentcli.FrameLine &&
		(d.enter.frame.Modes.BracketedPaste && !d.Snapshot.Modes.BracketedPaste || d.enter.frame.Line == screen.LineRaw && d.Snapshot.Lines)
}

// refresh reads the current frame of a program with a plain prompt, because its line mode changes without a new frame.
func (d *delivery) refresh(ctx context.Context) error {
	if d.rules.Screen.InputBox.Frame != agentcli.FrameLine || d.Snapshot.Exited {
		return nil
	}
	f, err := d.Terminal.Frame(ctx, 0)
	if err == nil {
		d.Snapshot = d.Snapshot.Update(f)
	}
	return err
}

// edge returns how the program shows that a turn began after Enter: "status" (its own report) or "busy" (its screen). It is
// empty if no turn began, or if a person has typed since Enter, because the person may have begun the turn.
func (d *delivery) edge() string {
	if d.Snapshot.LastHuman.After(d.humanInput) {
		return ""
	}
	if status := d.Snapshot.Program().State; status == "working" && d.enter.status != status {
		return "status"
	}
	if !d.enter.busy && !d.loading() && d.Snapshot.Busy(d.rules.Screen, d.inputBox()) != "" {
		return "busy"
	}
	return ""
}

// emptied reports whether the input box had content before Enter and is empty now.
func (d *delivery) emptied() bool {
	c := d.inputBox()
	return d.hasKnownInputBox() && !d.enter.loaded && d.echo != matchEmpty && c.Found && !c.Above &&
		!d.Snapshot.LastHuman.After(d.humanInput) && strings.TrimSpace(c.Content) == "" && d.Snapshot.Seq > d.enter.frame.Seq && d.Snapshot.Dialog(d.rules) == nil
}

// mayRepeat reports whether Enter may be pressed again: the input box still contains exactly the text, no person has
// typed, and enough time has passed.
func (d *delivery) mayRepeat() bool {
	return d.typed < maxEnter && !d.lineClosed() && time.Since(d.enter.at) >= d.repeatAfter() &&
		d.compareBox() == matchOurs && !d.Snapshot.LastHuman.After(d.humanInput)
}

// repeatAfter returns the time after Enter before it may be repeated.
func (d *delivery) repeatAfter() time.Duration {
	if d.Snapshot.Seq > d.enter.frame.Seq {
		return againPainted
	}
	return againSilent
}

// untilRepeat returns the time to wait for a frame before Enter may be repeated.
func (d *delivery) untilRepeat() time.Duration {
	if left := d.repeatAfter() - time.Since(d.enter.at); left > 0 {
		return left
	}
	return againPainted
}

// noEvidence returns the outcome for a prompt without evidence, with the reason.
func (d *delivery) noEvidence() runtime.Outcome {
	switch d.compareBox() {
	case matchOurs:
		return unconfirmed("the text is still in the input box after gc pressed Enter %d times", d.typed)
	case matchMore:
		return unconfirmed("the input box contains other text besides the prompt")
	default:
		if d.enter.loaded {
			return unconfirmed("the program began to load after gc pressed Enter, so it may have lost the text")
		}
		if dialog := d.Snapshot.Dialog(d.rules); dialog != nil {
			return unconfirmed("a dialog is on the screen (%s)", dialog.Kind)
		}
		if d.Snapshot.LastHuman.After(d.humanInput) {
			return unconfirmed("a person typed before a signal showed that the agent accepted it")
		}
		return unconfirmed("no signal that the agent accepted it within %s", d.confirm)
	}
}
