package inject

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// verdict says what happened to the text of an interrupted delivery. It is stored as the Outcome of the delivery's log
// entry.
type verdict string

// The verdicts.
const (
	unknown   verdict = ""
	withdrawn verdict = OutcomeWithdrawn // the program did not accept the text and never will
	accepted          = verdict(runtime.OutcomeSubmitted)
)

// resolution is what gc found out about an interrupted delivery: what happened to its text, and whether the input box is
// free of it.
type resolution struct {
	Verdict verdict
	// Clean: no part of the text is in the input box or in input that the program has not read. Then the next prompt may be
	// typed.
	Clean bool
	Why   string // the reason if Clean is false or Verdict is unknown
	// Evidence is the evidence of an accepted text; empty means that the input box was emptied.
	Evidence string
	// Wait is the reason why the input box could not be read now, if this reason ends by itself. A resolution that
	// is not Clean and has no Wait means that the input box is blocked.
	Wait runtime.RefusalReason
	// Hidden: the input box did not show what was sent to it.
	Hidden bool
}

const (
	// resolveLimit is the longest time that a program has to show the content of its input box.
	resolveLimit = 10 * time.Second
	// unmarkedStableFor is the time that a line must not change before it is read without a mark.
	unmarkedStableFor = 300 * time.Millisecond
	// boxStableFor is the time that an input box must not change, with all input read, before its content counts.
	boxStableFor = 500 * time.Millisecond
	// screenStableFor replaces boxStableFor for a screen without an input box.
	screenStableFor = 2 * time.Second
)

// resolve finds out the outcome of an interrupted delivery and removes its text from the input box. The text may be there
// in part, completely or not at all, or may be input that the program has not read yet. No other delivery has sent
// anything since.
//
// If the terminal reports whether the program has read all input, resolve waits until all input is read and the box is
// stable. Otherwise, and in some cases after a submit key, it types a mark. When the mark is on the screen, all input before
// it has been read, and the box contains the rest of the text before the mark. A mark is typed only once.
//
// If there was no other input, everything in the box belongs to the text. After other input, resolve does not touch the
// text of a person: it then types no mark and removes nothing.
func (to target) resolve(ctx context.Context, rules screen.Rules, e DeliveryEntry) (resolution, error) {
	if e.Unsent && e.Marks == 0 {
		return resolution{Verdict: withdrawn, Clean: true}, nil
	}
	w, err := screen.NewWatcher(ctx, to.Lease)
	if err != nil {
		return resolution{}, err
	}
	defer w.Release()
	r := &resolver{Watcher: w, to: to, rules: rules, entry: e, end: time.Now().Add(resolveLimit)}
	res, err := r.resolve(ctx)
	if errors.Is(err, ErrTouched) {
		return resolution{Wait: runtime.RefusedTyping, Why: typing}, nil
	}
	return res, err
}

const typing = "a person is typing"

// resolve finds out the outcome of the delivery. It chooses the method by three things: whether gc can read the program's
// input box, whether the terminal reports unread input, and what the log entry says.
func (r *resolver) resolve(ctx context.Context) (resolution, error) {
	switch {
	case isBlind(r.rules):
		return r.resolveBlind(ctx)
	case silent(r.Snapshot, r.rules) && !r.entry.Seen:
		return r.resolveSilent(ctx)
	}
	if !r.entry.Unsent && !r.hasInputState() && strings.HasSuffix(skeleton(string(r.entry.Text)), mark) {
		return resolution{Why: "the text ends like a mark"}, nil
	}
	why, wait, err := r.awaitInputBox(ctx)
	switch {
	case err != nil:
		return resolution{}, err
	case why == offScreen && r.hasInputState():
		return r.resolveOffScreen(ctx)
	case why != "":
		return resolution{Wait: wait, Why: why}, nil
	case r.entry.Touched:
		return r.resolveShared(ctx)
	case r.entry.Unsent:
		return r.removeMark(ctx)
	case r.hasInputState():
		return r.resolveRead(ctx)
	}
	return r.resolveOwn(ctx)
}

// hasInputState reports whether the terminal reports that the program has read its input.
func (r *resolver) hasInputState() bool { return r.Snapshot.Input != screen.InputUnknown }

// resolveBlind resolves the text in a program whose input box cannot be read. If the kernel edits the line, the kill
// character removes it.
func (r *resolver) resolveBlind(ctx context.Context) (resolution, error) {
	switch {
	case r.entry.Entered || r.entry.Touched:
		return resolution{Clean: true, Why: "gc cannot read this program's input box"}, nil
	case r.Snapshot.Line == screen.LineCooked:
		err := r.to.Type(ctx, InputClear, []byte{killLine})
		return resolution{Verdict: withdrawn, Clean: err == nil}, err
	}
	return resolution{Hidden: true, Why: "an incomplete text may be in the program's input box, which gc cannot read"}, nil
}

// resolver resolves one interrupted delivery.
type resolver struct {
	*screen.Watcher
	to         target
	rules      screen.Rules
	entry      DeliveryEntry
	end        time.Time
	humanInput time.Time
	shows      bool      // the input box shows what is sent to it
	asked      time.Time // the time since when a dialog has been on the screen; zero if none is
}

// isDialogStable reports whether a dialog has been on the screen for dialogStays. The resolution must then end, because
// the answer to the dialog needs the input.
func (r *resolver) isDialogStable() bool {
	if r.Snapshot.Dialog(r.rules) == nil {
		r.asked = time.Time{}
	} else if r.asked.IsZero() {
		r.asked = time.Now()
	}
	return !r.asked.IsZero() && time.Since(r.asked) > dialogStays
}

// dialogStays is the time after which a dialog ends the resolution.
const dialogStays = 300 * time.Millisecond

// isBlind reports whether the rules do not describe an input box that can be read.
func isBlind(rules screen.Rules) bool {
	c := rules.Screen.InputBox
	return c.Frame == "" || c.Frame == "line" && len(c.Marks) == 0
}

// inputBox returns the input box of the current snapshot.
func (r *resolver) inputBox() screen.InputBox { return r.Snapshot.InputBox(r.rules.Screen.InputBox) }

// awaitInputBox waits until the input box can be read and then holds the keys of people. If the box cannot be read, it
// returns the reason in why, and in wait the reason for the caller.
func (r *resolver) awaitInputBox(ctx context.Context) (why string, wait runtime.RefusalReason, err error) {
	rows, since := r.Snapshot.Rows, time.Now()
	err = r.until(ctx, func() bool {
		if !slices.Equal(rows, r.Snapshot.Rows) {
			rows, since = r.Snapshot.Rows, time.Now()
		}
		why, wait = r.unreadableReason()
		gone := why == offScreen && r.hasInputState() && time.Since(since) >= r.remainingRest()
		return why == "" && time.Since(r.Snapshot.LastOutput) >= repaintTime || r.isDialogStable() || gone
	})
	if err != nil || why != "" && why != offScreen {
		return why, wait, err
	}
	if err := r.Hold(ctx); err != nil {
		return "", "", err
	}
	if err := r.reload(ctx); err != nil {
		return "", "", err
	}
	r.humanInput = r.Snapshot.LastHuman
	why, wait = r.unreadableReason()
	return why, wait, nil
}

// reload reads the journal and then the screen again, because other input may have arrived.
func (r *resolver) reload(ctx context.Context) error {
	j, err := r.to.Account(ctx, "")
	if err != nil {
		return err
	}
	r.shows = j.Shows
	if j.Last != nil && j.Last.ID == r.entry.ID {
		r.entry = *j.Last
	}
	return r.Read(ctx)
}

// offScreen is the reason if the screen shows no input box.
const offScreen = "the input box is not on the screen"

// unreadableReason returns the reason why the input box cannot be read now, as text and as a refusal reason. Both are
// empty if it can be read.
func (r *resolver) unreadableReason() (string, runtime.RefusalReason) {
	c := r.inputBox()
	switch {
	case r.Snapshot.Exited:
		return screen.ErrExited.Error(), runtime.RefusedUnready
	case isHumanActive(r.Snapshot, r.rules, time.Now()):
		return typing, runtime.RefusedTyping
	case r.Snapshot.Dialog(r.rules) != nil:
		return "a dialog is on the screen", runtime.RefusedDialog
	case r.Snapshot.Busy(r.rules.Screen, c) != "" && (!c.Found || r.rules.Screen.EnterWhileBusy == "ignored"):
		return "the program accepts no input during a turn", runtime.RefusedBusy
	case !c.Found:
		return offScreen, runtime.RefusedUnready
	}
	return "", ""
}

// until waits for frames until the function done returns true, the program has exited or r.end has passed.
func (r *resolver) until(ctx context.Context, done func() bool) error {
	for !done() {
		left := time.Until(r.end)
		if left <= 0 || r.Snapshot.Exited {
			return nil
		}
		if _, err := r.Next(ctx, min(left, repaintTime)); err != nil { // the end of a person's typing causes no new frame
			return err
		}
	}
	return nil
}

// awaitStable waits until the program has read all input, and the input box, or the screen if there is no box, has not
// changed for the time rest. It returns the refusal reason if this did not happen, and "" otherwise.
func (r *resolver) awaitStable(ctx context.Context, rest time.Duration) (wait runtime.RefusalReason, err error) {
	shown, since := boxText(r.Snapshot, r.inputBox()), time.Now()
	for time.Since(since) < rest {
		if time.Now().After(r.end) {
			return runtime.RefusedUnready, nil
		}
		if err := step(ctx, r.Watcher); err != nil {
			return "", err
		}
		switch now := boxText(r.Snapshot, r.inputBox()); {
		case r.Snapshot.Exited:
			return runtime.RefusedUnready, nil
		case r.isDialogStable():
			return runtime.RefusedDialog, nil
		case r.Snapshot.LastHuman.After(r.humanInput):
			return runtime.RefusedTyping, nil
		case now != shown, r.Snapshot.Input == screen.InputWaiting, !r.asked.IsZero():
			shown, since = now, time.Now()
		}
	}
	return "", nil
}

// remainingRest returns how much longer the screen must not change, so that it has not changed for screenStableFor since the
// last output. It is at least boxStableFor, because the program may have read its input only a moment ago. The wait is kept
// short, so that finding the outcome can finish even if controllers are killed often.
func (r *resolver) remainingRest() time.Duration {
	if r.Snapshot.LastOutput.IsZero() {
		return screenStableFor
	}
	return min(screenStableFor, max(boxStableFor, screenStableFor-time.Since(r.Snapshot.LastOutput)))
}

// unread is the reason if the program does not read its input.
const unread = "the program has not read what it was sent"

// notStable returns the resolution for the refusal reason that awaitStable has returned.
func notStable(wait runtime.RefusalReason) resolution {
	switch wait {
	case runtime.RefusedDialog:
		return resolution{Wait: wait, Why: "a dialog is on the screen"}
	case runtime.RefusedTyping:
		return resolution{Wait: wait, Why: typing}
	default:
		return resolution{Wait: wait, Why: unread}
	}
}

// resolveRead finds the outcome of a delivery by the content of the input box, on a terminal that reports whether the program has
// read its input. Since the delivery began no person has typed, so the box contains only gc's text, or none.
func (r *resolver) resolveRead(ctx context.Context) (resolution, error) {
	wait, err := r.awaitStable(ctx, boxStableFor)
	if err != nil || wait != "" {
		return notStable(wait), err
	}
	c := r.inputBox()
	switch {
	case !c.Found:
		return r.resolveOffScreen(ctx)
	case c.Empty() && !r.shows && !r.entry.Seen:
		return r.resolveOwn(ctx) // the box may hide its content
	case !r.entry.Entered:
		return r.cleared(ctx, resolution{Verdict: withdrawn}, c.Content)
	case r.previousVerdict() != unknown:
		return r.cleared(ctx, resolution{Verdict: r.previousVerdict()}, c.Content)
	case c.Empty() && r.entry.Seen:
		return r.cleared(ctx, resolution{Verdict: accepted}, "")
	case c.Empty():
		return r.cleared(ctx, resolution{}, "")
	case r.showsText():
		return r.resolveOwn(ctx) // the submit key may still take effect
	}
	return r.cleared(ctx, resolution{Why: changedText}, c.Content)
}

const changedText = "Enter was pressed, and the input box contained another text afterwards"

// showsText reports whether the box shows the text itself or the placeholder that the profile describes. Such a box also
// shows a mark.
func (r *resolver) showsText() bool {
	return resembles(r.inputBox().Content, string(r.entry.Text)) || r.isOnlyOurs()
}

// resolveOffScreen resolves a text whose input box is not on the screen, for example because it is taller than the screen.
// It sends the keys that remove the text once.
func (r *resolver) resolveOffScreen(ctx context.Context) (resolution, error) {
	r.end = time.Now().Add(resolveLimit)
	wait, err := r.awaitStable(ctx, r.remainingRest())
	if err != nil || wait != "" {
		return notStable(wait), err
	}
	if r.inputBox().Found {
		return resolution{Wait: runtime.RefusedUnready, Why: "the input box has only just appeared again, so its content is not certain yet"}, nil
	}
	if r.entry.Touched {
		return resolution{Wait: runtime.RefusedUnready, Why: offScreen}, nil
	}
	res := resolution{Verdict: withdrawn}
	if r.entry.Entered {
		res.Verdict = r.previousVerdict()
	}
	res, err = r.cleared(ctx, res, "")
	if !res.Clean {
		// If Enter was sent, a box that appears again and looks empty is empty.
		res.Verdict, res.Hidden, res.Why = unknown, !r.entry.Entered, offScreen
	}
	return res, err
}

// resolveOwn finds out the outcome if only gc has sent input since the delivery began. It types a mark after the text; the
// content before the mark shows the outcome.
func (r *resolver) resolveOwn(ctx context.Context) (resolution, error) {
	rest, shown, err := r.probe(ctx)
	if err != nil {
		return resolution{}, err
	}
	if !shown {
		return r.resolveUnmarked(ctx)
	}
	if !r.hasInputState() && !r.isOnlyOurs() {
		return resolution{Why: "the input box contains more than the text"}, r.unmark(ctx)
	}
	res := resolution{Verdict: withdrawn}
	switch {
	case r.previousVerdict() != unknown:
		res.Verdict = r.previousVerdict()
	case rest == "" && r.entry.Entered && r.entry.Seen:
		res.Verdict = accepted
	case rest == "" && r.entry.Entered:
		res.Verdict = unknown
	case r.entry.Entered && !resembles(rest, string(r.entry.Text)) && !r.isOnlyOurs():
		res.Verdict, res.Why = unknown, changedText
	}
	return r.cleared(ctx, res, rest)
}

// resolveUnmarked finds out the outcome if gc typed a mark into the input box and the mark does not appear on the screen.
func (r *resolver) resolveUnmarked(ctx context.Context) (resolution, error) {
	why, wait := r.unreadableReason()
	switch {
	case why != "":
		return resolution{Wait: wait, Why: why}, nil
	case r.Snapshot.LastHuman.After(r.humanInput):
		return notStable(runtime.RefusedTyping), nil
	case r.Snapshot.Input == screen.InputWaiting:
		return notStable(runtime.RefusedUnready), nil
	}
	hidden := r.inputBox().Empty()
	res := resolution{Verdict: withdrawn}
	if r.entry.Entered {
		res.Verdict = r.previousVerdict()
	}
	if hidden { // recorded before the mark is removed, so no second mark is typed
		e := DeliveryEntry{ID: r.entry.ID, Outcome: r.entry.Outcome, Evidence: r.entry.Evidence, Final: r.entry.Final, Open: true, Hidden: true}
		if err := r.to.RecordOutcome(ctx, e); err != nil {
			return resolution{}, err
		}
	}
	if hidden && r.entry.Behind { // the box may also contain a person's text: remove nothing
		return resolution{Hidden: true, Why: notShown}, nil
	}
	r.end = time.Now().Add(resolveLimit)
	res, err := r.cleared(ctx, res, "")
	if hidden { // the box hides its content, so a successful removal cannot be seen either
		res.Clean, res.Hidden, res.Why = false, true, notShown
		res.Verdict = unknown
	}
	return res, err
}

// cleared empties an input box that contains only the text of the delivery, and returns res with Clean set if the box is
// empty then. It first records the verdict, so that the verdict is not lost if this process is killed.
func (r *resolver) cleared(ctx context.Context, res resolution, rest string) (resolution, error) {
	if r.entry.Entered {
		if err := r.recordVerdict(ctx, res.Verdict); err != nil {
			return resolution{}, err
		}
	}
	clean, err := r.clear(ctx, rest)
	if errors.Is(err, ErrTouched) {
		return resolution{}, err
	}
	res.Clean = clean
	switch wait := r.Snapshot.Input == screen.InputWaiting; {
	case clean:
	case r.Snapshot.LastHuman.After(r.humanInput):
		res.Wait, res.Why = runtime.RefusedTyping, typing
	case wait:
		res.Wait, res.Why = runtime.RefusedUnready, unread
	default:
		res.Why = notEmptied
	}
	if !clean && res.Verdict == withdrawn && (res.Wait == "" || !r.entry.Entered) {
		res.Verdict = unknown // another sender may submit the text
	}
	return res, err
}

// isOnlyOurs reports whether the box contains only the text, a part of it or nothing, apart from marks. It treats every box
// as one that scrolls, so a visible part of the text is enough.
func (r *resolver) isOnlyOurs() bool {
	c, text := r.inputBox(), string(r.entry.Text)
	c.Content = trimMarks(c.Content)
	rules := r.rules.Screen.InputBox
	rules.Scrolls = true
	h := compareContent(c, want(text), rules)
	return h == matchEmpty || h == matchOurs || strings.HasPrefix(skeleton(text), skeleton(c.Content))
}

// previousVerdict returns the verdict that an interrupted earlier resolution has recorded; unknown if there is none.
func (r *resolver) previousVerdict() verdict {
	if v := verdict(r.entry.Outcome); v == withdrawn || v == accepted {
		return v
	}
	return unknown
}

// recordVerdict records a verdict in the journal before the box is changed.
func (r *resolver) recordVerdict(ctx context.Context, v verdict) error {
	e := DeliveryEntry{ID: r.entry.ID, Outcome: string(v), Open: true}
	switch v {
	case accepted:
		e.Evidence = takenEvidence
	case unknown: // final, because an empty box proves nothing later
		e.Outcome, e.Final = string(runtime.OutcomeUnconfirmed), true
	case withdrawn:
	}
	return r.to.RecordOutcome(ctx, e)
}

// resolveShared finds out the outcome if a person or another program has also sent input since the delivery began, so the
// input box may contain their text.
func (r *resolver) resolveShared(ctx context.Context) (resolution, error) {
	if r.hasInputState() {
		if wait, err := r.awaitStable(ctx, boxStableFor); err != nil || wait != "" {
			return notStable(wait), err
		}
	} else if err := r.waitStable(ctx); err != nil {
		return resolution{}, err
	}
	want := skeleton(string(r.entry.Text))
	ours := func() bool {
		return unmarked(r.inputBox()) == want && !r.entry.Entered && r.rules.Screen.ClearKey != ""
	}
	// A mark is a text that gc types to find out whether the program has read everything before it, see probe.
	switch c := r.inputBox(); {
	case r.hasInputState(): // all input is read, so what the box shows is complete, unless the box hides its content
		switch got := skeleton(c.Content); {
		case !c.Empty() && ours(): // only the text of the delivery, not submitted
			return r.cleared(ctx, resolution{Verdict: withdrawn, Why: movedReason}, c.Content)
		case c.Empty() && r.undoneUntested(): // the keys that remove the text were sent: do they work in this program?
			return r.testUndoKeys(ctx)
		case c.Empty() && r.entry.Behind: // the box has never shown a text of gc: it may hide one
			return r.resolveSharedEmpty(ctx, want)
		case got != "" && r.entry.Marked && strings.HasPrefix(mark, got): // the typing of a mark was interrupted
			return r.cleared(ctx, resolution{Why: movedReason}, c.Content)
		}
	case c.Empty() || ours(): // the box shows no text of a person, but not all input may be read yet
		rest, shown, err := r.probe(ctx)
		if err != nil {
			return resolution{}, err
		}
		if !shown {
			return r.sharedUnmarked(ctx)
		}
		if rest != "" && ours() {
			return r.cleared(ctx, resolution{Verdict: withdrawn, Why: movedReason}, rest)
		}
		if err := r.unmark(ctx); err != nil {
			return resolution{}, err
		}
	}
	return r.sharedVerdict(want), nil
}

// undoneUntested reports whether the keys that remove the text were sent before it was submitted, in a program whose keys
// were never tested. It is false after a mark, because the test of the keys types one.
func (r *resolver) undoneUntested() bool {
	return r.entry.Undone && !r.entry.Entered && !r.entry.Marked && r.previousVerdict() != accepted && !r.measured()
}

// resolveSharedEmpty finds out the outcome if others have also sent input, and the input box looks empty but has never
// shown a text of gc, so it may hide its content. It types a mark, unless one was typed before. want is the text of the
// delivery in the form of [skeleton].
func (r *resolver) resolveSharedEmpty(ctx context.Context, want string) (resolution, error) {
	if r.entry.Marked {
		return resolution{Hidden: true, Why: notShown}, nil
	}
	_, shown, err := r.probe(ctx)
	if err != nil {
		return resolution{}, err
	}
	if !shown {
		return r.sharedUnmarked(ctx)
	}
	if err := r.unmark(ctx); err != nil {
		return resolution{}, err
	}
	return r.sharedVerdict(want), nil
}

// sharedUnmarked continues resolveSharedEmpty if the typed mark does not appear on the screen.
func (r *resolver) sharedUnmarked(ctx context.Context) (resolution, error) {
	if res, settled := r.resolveMarkless(); settled {
		return res, nil
	}
	// The box was empty when the program had read all input, so what it shows now stands for the mark.
	return r.cleared(ctx, resolution{Why: movedReason}, "")
}

// sharedVerdict returns the resolution of a shared box that shows everything that was sent to it. want is the skeleton of
// the text.
func (r *resolver) sharedVerdict(want string) resolution {
	c := r.inputBox()
	if !c.Found || r.Snapshot.LastHuman.After(r.humanInput) {
		return resolution{Wait: runtime.RefusedTyping, Why: typing}
	}
	res := resolution{Clean: true, Why: movedReason}
	got := unmarked(c)
	if got == "" && !c.Empty() {
		res.Clean, res.Why = false, notEmptied
	}
	switch before := r.previousVerdict(); {
	case before == accepted, before == withdrawn && r.undone(): // otherwise a person may have submitted it
		res.Verdict = before
	case before == unknown && r.entry.Undone && !r.entry.Entered && r.undone() && !strings.Contains(got, want) && placeholders(c.Content, r.rules.Screen.InputBox) == 0:
		res.Verdict = withdrawn // the content belongs to another sender
	}
	return res
}

// undone reports whether the undo keys certainly removed the text. The keys of a profile with a measured input box do.
// For other programs with an input state, the screen afterwards proves nothing, because the program may show an unknown
// placeholder. If only backspaces were sent, the removal is not certain either.
func (r *resolver) undone() bool {
	return !r.entry.Behind && (!r.hasInputState() || r.measured())
}

// measured reports whether the program has a profile with a framed input box, whose keys were tested.
func (r *resolver) measured() bool { return r.rules.Screen.InputBox.Frame != agentcli.FrameLine }

// testUndoKeys finds out whether the undo keys work in this program, to know whether they removed the text before other
// input arrived. It types a mark into the empty box and removes it with these keys.
func (r *resolver) testUndoKeys(ctx context.Context) (resolution, error) {
	rest, shown, err := r.probe(ctx)
	switch {
	case err != nil:
		return resolution{}, err
	case !shown:
		return r.sharedUnmarked(ctx)
	case rest != "":
		err := r.unmark(ctx)
		return r.sharedVerdict(skeleton(string(r.entry.Text))), err
	}
	back, err := r.effective(ctx, []byte(backspace), func() bool { return skeleton(r.inputBox().Content) == mark[:len(mark)-1] })
	if err != nil {
		return resolution{}, err
	}
	clears := false
	if key, err := clearKeys(r.Snapshot, r.rules); err == nil && r.rules.Screen.ClearKey != "" {
		if clears, err = r.effective(ctx, key, func() bool { return r.inputBox().Empty() }); err != nil {
			return resolution{}, err
		}
	}
	res := resolution{Why: movedReason}
	text := string(r.entry.Text)
	switch long := utf8.RuneCountInString(text) > maxBackspaces-completion; {
	case r.entry.Behind && !back: // only backspaces were sent
	case back && clears && rowsOf(text) <= maxUndo, back && !long, clears && !strings.Contains(text, "\n"):
		res.Verdict = withdrawn
	}
	clean, err := r.clear(ctx, mark)
	if res.Clean = clean; !clean {
		res.Verdict, res.Why = unknown, notEmptied
		if r.Snapshot.LastHuman.After(r.humanInput) {
			res.Wait, res.Why = runtime.RefusedTyping, typing
		}
	}
	return res, err
}

// effective sends keys that remove text, and reports whether the condition expected became true before the limit, that is,
// whether the keys had the wanted effect.
func (r *resolver) effective(ctx context.Context, keys []byte, expected func() bool) (bool, error) {
	if err := r.to.Type(ctx, InputClear, keys); err != nil {
		return false, err
	}
	for late := time.Now().Add(clearEffect); !expected(); {
		if time.Now().After(late) || r.Snapshot.Exited {
			return false, nil
		}
		if err := step(ctx, r.Watcher); err != nil {
			return false, err
		}
		if r.Snapshot.Input == screen.InputWaiting && time.Now().Before(r.end) {
			late = time.Now().Add(clearEffect)
		}
	}
	return true, nil
}

const (
	notShown    = "the program does not show its input"
	movedReason = "other input arrived after it"
)

const notEmptied = "the input box could not be emptied"

// waitStable waits until the input box has not changed for unmarkedStableFor.
func (r *resolver) waitStable(ctx context.Context) error {
	state := r.inputBox().Content
	for calm := time.Now().Add(unmarkedStableFor); time.Now().Before(calm); {
		if _, err := r.Next(ctx, time.Until(calm)); err != nil {
			return err
		}
		if c := r.inputBox().Content; c != state && time.Now().Before(r.end) {
			state, calm = c, time.Now().Add(unmarkedStableFor)
		}
	}
	return nil
}

// clear empties the box and reports whether the box stays empty. rest is the known content of the box.
func (r *resolver) clear(ctx context.Context, rest string) (bool, error) {
	if err := r.Hold(ctx); err != nil || r.Snapshot.LastHuman.After(r.humanInput) {
		return false, err
	}
	if r.rules.Screen.ClearKey != "" || rest != "" || !r.inputBox().Empty() {
		if err := r.to.emptyLine(ctx, r.Watcher, r.rules, r.inputBox(), string(r.entry.Text)); err != nil {
			return false, err
		}
	}
	if r.hasInputState() {
		if !r.inputBox().Empty() {
			return false, nil
		}
		wait, err := r.awaitStable(ctx, emptyStableFor)
		return wait == "" && r.inputBox().Empty() && !r.Snapshot.LastHuman.After(r.humanInput), err
	}
	// A program that reads its input late also shows the effect of the keys late.
	if err := r.until(ctx, func() bool { return r.inputBox().Empty() }); err != nil {
		return false, err
	}
	return r.isStillEmpty(ctx)
}

// emptyStableFor is the time that a box must stay empty, with all input read, to count as cleared.
const emptyStableFor = 200 * time.Millisecond

// isStillEmpty reports whether the box is empty and stays empty for closedConfirm.
func (r *resolver) isStillEmpty(ctx context.Context) (bool, error) {
	for end := time.Now().Add(closedConfirm); ; {
		if r.Snapshot.Exited || r.Snapshot.LastHuman.After(r.humanInput) || !r.inputBox().Empty() {
			return false, nil
		}
		changed, err := r.Next(ctx, time.Until(end))
		if err != nil || !changed {
			return err == nil, err
		}
	}
}
