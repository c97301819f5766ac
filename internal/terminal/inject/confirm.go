package inject

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

const (
	// emptyConfirm is how long an emptied input box must stay so: it may be in the
	// middle of a repaint.
	emptyConfirm = 20 * time.Millisecond
	// closedConfirm is the same for a closed line: a program that exits closes it too.
	closedConfirm = 100 * time.Millisecond
	// turnShown is how long a program may take to show a turn, where the next prompt must not be
	// typed during one.
	turnShown = 3 * time.Second
	// againPainted and againSilent are how long after Enter it may be repeated,
	// by whether the program has painted anything since. A program that has not
	// may be about to, and the second Enter would hit what it paints.
	againPainted = 400 * time.Millisecond
	againSilent  = 1500 * time.Millisecond
	// maxEnter bounds how often Enter is pressed for one prompt.
	maxEnter = 3
)

// pressed is an Enter and what the screen was like before it.
type pressed struct {
	at     time.Time
	frame  screen.Frame
	busy   bool
	status string
	loaded bool // it has loaded since: an empty line proves nothing
}

// maxLooks bounds how often the screen is read again because it changed before Enter. A
// program that draws all the time gets its Enter right behind the last reading.
const maxLooks = 20

// pressEnter sends Enter, as a piece of its own, right behind a look at the screen: a dialog may
// have come up since the text came to rest. Where the terminal can bind Enter to the screen that
// was seen, it does.
func (d *delivery) pressEnter(ctx context.Context) error {
	for look := 1; ; look++ {
		if err := d.Hold(ctx); err != nil {
			return err
		}
		err := d.Refresh(ctx)
		if err == nil {
			err = d.mayEnter()
		}
		if err != nil && look == 1 && d.disturbed() == nil && ctx.Err() == nil { // it may be painting
			if err := d.waitQuiet(ctx, d.rules.Screen.FindSettle(len(d.text))); err != nil {
				return err
			}
			err = d.mayEnter()
		}
		if err != nil {
			return err
		}
		err = d.sendEnter(ctx, look < maxLooks)
		if !errors.Is(err, inputlog.ErrChanged) {
			return err
		}
	}
}

// sendEnter sends Enter; seen: only if the screen is the one of the snapshot.
func (d *delivery) sendEnter(ctx context.Context, seen bool) error {
	before := d.enter
	d.enter = pressed{
		at: time.Now(), frame: d.Snapshot.Frame, status: d.Snapshot.Program().State,
		busy: d.Snapshot.Busy(d.rules.Screen, d.inputBox()) != "",
	}
	p, err := vt.Key("Enter", d.Snapshot.Modes)
	if err != nil {
		return err
	}
	in := inputlog.Enter
	if d.hasKnownInputBox() && strings.TrimSpace(d.inputBox().Content) != "" {
		in = inputlog.Seen
	}
	if journal, ok := d.to.journal.(SeenJournal); ok && seen {
		err = journal.TypeSeen(ctx, d.Snapshot.Seq, in, p)
	} else {
		err = d.to.input(ctx, in, p)
	}
	if errors.Is(err, inputlog.ErrChanged) {
		d.enter = before
		return err
	}
	d.typed++
	return err
}

// evidence waits until the screen proves that the agent took the prompt.
func (d *delivery) evidence(ctx context.Context) (runtime.Outcome, error) {
	switch {
	case d.silent() && d.echo == matchEmpty, d.collected():
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
		if time.Until(end) <= 0 || d.noCommand() {
			return d.noEvidence(), nil
		}
		if !changed && d.mayRepeat() {
			if err := d.repeatEnter(ctx); err != nil {
				return runtime.Outcome{}, err
			}
		}
	}
}

// signCommand is added to the evidence of an input that the program may have taken for a
// command of its own: that it was taken does not mean that a turn began.
const signCommand = "command"

// ofCommand adds to the evidence that the input may have been a command. Some programs
// look busy for a moment at one, so an edge proves nothing.
func (d *delivery) ofCommand(out runtime.Outcome) runtime.Outcome {
	if out.State == runtime.OutcomeSubmitted && d.isCommand() {
		out.Evidence += "+" + signCommand
	}
	return out
}

// repeatEnter presses Enter again, unless something has come meanwhile or the last one is
// unread: a program that reads both at once may take the text twice.
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

// provable reports whether this program's screen can show that a prompt was
// taken.
func (d *delivery) provable() bool {
	s := d.rules.Screen
	return d.hasKnownInputBox() || len(s.TitleBusy) > 0 && d.Snapshot.Title != "" || d.before.Status.Text != "" ||
		s.InputBox.Frame == "" && len(s.Busy) > 0
}

// reaction waits until a program about which nothing is known has reacted to
// Enter, and claims nothing.
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
			return unconfirmed("nothing is known of this program's screen"), nil
		}
	}
}

// proof returns the evidence that is on the screen, empty if none is.
func (d *delivery) proof(ctx context.Context) (string, error) {
	edge := d.edge()
	d.enter.loaded = d.enter.loaded || d.loading()
	if d.lineClosed() { // the program shows the line that it has accepted until it shows more
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

// lasting returns the sign if it holds for the whole of wait; a better one that
// comes meanwhile is added.
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

// lineClosed reports whether a program with a plain prompt has stopped reading
// its line: line editors take bracketed paste back when they accept one, and have the
// kernel collect lines again.
func (d *delivery) lineClosed() bool {
	return d.rules.Screen.InputBox.Frame == agentcli.FrameLine &&
		(d.enter.frame.Modes.BracketedPaste && !d.Snapshot.Modes.BracketedPaste || d.enter.frame.Line == screen.LineRaw && d.Snapshot.Lines)
}

// refresh reads who edits a plain line: that changes without a new frame.
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

// edge returns the sign of a turn that was not there before Enter. A turn may be a person's
// where one has typed since.
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

// emptied reports whether the input box held the text before Enter and is
// empty now.
func (d *delivery) emptied() bool {
	c := d.inputBox()
	return d.hasKnownInputBox() && !d.enter.loaded && d.echo != matchEmpty && c.Found && !c.Above &&
		!d.Snapshot.LastHuman.After(d.humanInput) && strings.TrimSpace(c.Content) == "" && d.Snapshot.Seq > d.enter.frame.Seq && d.Snapshot.Dialog(d.rules) == nil
}

// mayRepeat reports whether Enter may be pressed again: the input box still
// holds exactly our text, and nothing else has happened.
func (d *delivery) mayRepeat() bool {
	return d.typed < maxEnter && !d.lineClosed() && time.Since(d.enter.at) >= d.repeatAfter() &&
		d.compareBox() == matchOurs && !d.Snapshot.LastHuman.After(d.humanInput)
}

func (d *delivery) repeatAfter() time.Duration {
	if d.Snapshot.Seq > d.enter.frame.Seq {
		return againPainted
	}
	return againSilent
}

// untilRepeat returns how long to wait for a frame before Enter may be repeated.
func (d *delivery) untilRepeat() time.Duration {
	if left := d.repeatAfter() - time.Since(d.enter.at); left > 0 {
		return left
	}
	return againPainted
}

func (d *delivery) noEvidence() runtime.Outcome {
	switch d.compareBox() {
	case matchOurs:
		return unconfirmed("the input box still holds the text after %d Enter", d.typed)
	case matchMore:
		return unconfirmed("the input box holds more than the text")
	default:
		if d.enter.loaded {
			return unconfirmed("the program began to load after Enter: the text may be lost")
		}
		if dialog := d.Snapshot.Dialog(d.rules); dialog != nil {
			return unconfirmed("a dialog is up (%s)", dialog.Kind)
		}
		if d.Snapshot.LastHuman.After(d.humanInput) {
			return unconfirmed("a person typed before there was a sign that the agent accepted it")
		}
		return unconfirmed("no sign that the agent accepted it within %s", d.confirm)
	}
}
