package inject

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/tty"
	"gascity/runtime"
)

// verdict is the result for a text. It is the Outcome of its entry.
type verdict string

// The verdicts.
const (
	unknown   verdict = ""
	withdrawn verdict = inputlog.OutcomeWithdrawn // the program never took it and never will
	accepted          = verdict(runtime.OutcomeSubmitted)
)

// resolution is what came of a delivery that was cut off.
type resolution struct {
	Verdict verdict
	// Clean: nothing of the text is in the input box or on its way there any more.
	Clean bool
	Why   string // if it is not clean or not known
	// Evidence of a text that was taken; empty: the box was emptied.
	Evidence string
	// Wait is why the box could not be read now, if that ends by itself. One that is neither
	// Clean nor has a Wait is blocked.
	Wait runtime.RefusalReason
	// Hidden: the box did not show what was sent to it.
	Hidden bool
}

const (
	// resolveLimit bounds how long a program has to show what is in its input box.
	resolveLimit = 10 * time.Second
	// unmarkedStableFor is how long a line must show the same to be judged without a mark.
	unmarkedStableFor = 300 * time.Millisecond
	// boxStableFor is how long a box must show the same, with all input read, to be believed.
	boxStableFor = 500 * time.Millisecond
	// screenStableFor is the same for a screen without an input box.
	screenStableFor = 2 * time.Second
)

// resolve finds out the outcome of a delivery that did not finish, and takes its text out
// of the input box: it may be there in part, as a whole or not at all, or still be on its
// way; nothing of it is sent any more, and nothing of another delivery since. Where the
// terminal reports what the program has read, a box that has come to rest with all input
// read is believed. Otherwise, and where a key that submits was sent, a mark is typed
// behind everything that may be on its way: when it is on the screen, what is before it is
// all there is. A mark is typed once. All that is in a box without other input is the
// text's, whatever it looks like. A person's text is never touched: nothing is marked or
// removed once other input has come.
func (to target) resolve(ctx context.Context, rules screen.Rules, e inputlog.Entry) (resolution, error) {
	if e.Unsent && e.Marks == 0 {
		return resolution{Verdict: withdrawn, Clean: true}, nil
	}
	w, err := screen.NewWatcher(ctx, to.terminal)
	if err != nil {
		return resolution{}, err
	}
	defer w.Release()
	r := &resolver{Watcher: w, to: to, rules: rules, entry: e, end: time.Now().Add(resolveLimit)}
	res, err := r.resolve(ctx)
	if errors.Is(err, inputlog.ErrTouched) {
		return resolution{Wait: runtime.RefusedTyping, Why: typing}, nil
	}
	return res, err
}

const typing = "a person types"

func (r *resolver) resolve(ctx context.Context) (resolution, error) {
	switch {
	case r.isBlind():
		return r.resolveBlind(ctx)
	case silent(r.Snapshot, r.rules) && !r.entry.Seen:
		return r.unseenText(ctx)
	}
	if !r.entry.Unsent && !r.hasInputState() && strings.HasSuffix(skeleton(string(r.entry.Text)), mark) {
		return resolution{Why: "the text ends like a mark"}, nil
	}
	why, wait, err := r.open(ctx)
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
		return r.read(ctx)
	}
	return r.resolveOwn(ctx)
}

// hasInputState reports whether the terminal shows what the program has read.
func (r *resolver) hasInputState() bool { return r.Snapshot.Input != screen.InputUnknown }

// resolveBlind resolves a text in a program without a known input box. A line that the
// kernel collects is removed by the kernel.
func (r *resolver) resolveBlind(ctx context.Context) (resolution, error) {
	switch {
	case r.entry.Entered || r.entry.Touched:
		return resolution{Clean: true, Why: "nothing is known of this program's input box"}, nil
	case r.Snapshot.Line == screen.LineCooked:
		err := r.to.input(ctx, inputlog.Clear, []byte{tty.KillLine})
		return resolution{Verdict: withdrawn, Clean: err == nil}, err
	}
	return resolution{Hidden: true, Why: "a text that was cut off may be in its input box, and nothing is known of that"}, nil
}

type resolver struct {
	*screen.Watcher
	to         target
	rules      screen.Rules
	entry      inputlog.Entry
	end        time.Time
	humanInput time.Time
	shows      bool      // the box shows what is sent to it
	asked      time.Time // since when a dialog has been up; zero: none is
}

// waitForDialog reports whether a dialog is up and stays: its answer needs the input.
func (r *resolver) waitForDialog() bool {
	if r.Snapshot.Dialog(r.rules) == nil {
		r.asked = time.Time{}
	} else if r.asked.IsZero() {
		r.asked = time.Now()
	}
	return !r.asked.IsZero() && time.Since(r.asked) > dialogStays
}

// dialogStays is how long a dialog must be up to be waited for no more.
const dialogStays = 300 * time.Millisecond

// isBlind reports whether this program's input box cannot be read.
func (r *resolver) isBlind() bool { return isBlind(r.rules) }

func isBlind(rules screen.Rules) bool {
	c := rules.Screen.InputBox
	return c.Frame == "" || c.Frame == "line" && len(c.Marks) == 0
}

func (r *resolver) inputBox() screen.InputBox { return r.Snapshot.InputBox(r.rules.Screen.InputBox) }

// open waits until the input box is on the screen and keeps back what people type. It
// returns why it is not, and why that may end by itself.
func (r *resolver) open(ctx context.Context) (why string, wait runtime.RefusalReason, err error) {
	rows, since := r.Snapshot.Rows, time.Now()
	err = r.until(ctx, func() bool {
		if !slices.Equal(rows, r.Snapshot.Rows) {
			rows, since = r.Snapshot.Rows, time.Now()
		}
		why, wait = r.unreadableReason()
		gone := why == offScreen && r.hasInputState() && time.Since(since) >= r.remainingRest(screenStableFor)
		return why == "" && time.Since(r.Snapshot.LastOutput) >= repaintTime || r.waitForDialog() || gone
	})
	if err != nil || why != "" && why != offScreen {
		return why, wait, err
	}
	if err := r.Hold(ctx); err != nil {
		return "", "", err
	}
	if err := r.recall(ctx); err != nil {
		return "", "", err
	}
	r.humanInput = r.Snapshot.LastHuman
	why, wait = r.unreadableReason()
	return why, wait, nil
}

// recall reads the account again, and then the screen: other input may have come since.
func (r *resolver) recall(ctx context.Context) error {
	if r.to.journal == nil {
		return nil
	}
	j, err := r.to.journal.Account(ctx, "")
	if err != nil {
		return err
	}
	r.shows = j.Shows
	if j.Last != nil && j.Last.ID == r.entry.ID {
		r.entry = *j.Last
	}
	f, err := r.Terminal.Frame(ctx, 0)
	if err == nil {
		r.Snapshot = screen.NewSnapshot(f)
	}
	return err
}

// offScreen is why an input box cannot be read that is not there.
const offScreen = "the input box is not on the screen"

// unreadableReason returns why the input box cannot be read, and why that may end by itself; empty if it
// can.
func (r *resolver) unreadableReason() (string, runtime.RefusalReason) {
	c := r.inputBox()
	switch {
	case r.Snapshot.Exited:
		return screen.ErrExited.Error(), runtime.RefusedUnready
	case isHumanActive(r.Snapshot, r.rules, time.Now()):
		return typing, runtime.RefusedTyping
	case r.Snapshot.Dialog(r.rules) != nil:
		return "a dialog is up", runtime.RefusedDialog
	case r.Snapshot.Busy(r.rules.Screen, c) != "" && (!c.Found || r.rules.Screen.EnterWhileBusy == "ignored"):
		return "the program accepts no input during a turn", runtime.RefusedBusy
	case !c.Found:
		return offScreen, runtime.RefusedUnready
	}
	return "", ""
}

// until waits for frames until done, or the limit has passed.
func (r *resolver) until(ctx context.Context, done func() bool) error {
	for !done() {
		left := time.Until(r.end)
		if left <= 0 || r.Snapshot.Exited {
			return nil
		}
		if _, err := r.Next(ctx, min(left, repaintTime)); err != nil { // a person's rest changes no frame
			return err
		}
	}
	return nil
}

// atRest waits until the program has read all of its input and the input box, or the screen
// without one, has shown the same for the given time. It returns why that did not come.
func (r *resolver) atRest(ctx context.Context, rest time.Duration) (wait runtime.RefusalReason, err error) {
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
		case r.waitForDialog():
			return runtime.RefusedDialog, nil
		case r.Snapshot.LastHuman.After(r.humanInput):
			return runtime.RefusedTyping, nil
		case now != shown, r.Snapshot.Input == screen.InputWaiting, !r.asked.IsZero():
			shown, since = now, time.Now()
		}
	}
	return "", nil
}

// remainingRest returns how long the screen must be seen at rest to have rested for d: it has shown the same
// since the last output. It is at least settles, because the program may have read its input
// only now. A short wait matters where controllers are killed one after the other.
func (r *resolver) remainingRest(d time.Duration) time.Duration {
	if r.Snapshot.LastOutput.IsZero() {
		return d
	}
	return min(d, max(boxStableFor, d-time.Since(r.Snapshot.LastOutput)))
}

// unread is why a box is not judged whose program does not read.
const unread = "the program has not read what it was sent"

// unrested returns the resolution of a box that did not come to rest.
func unrested(wait runtime.RefusalReason) resolution {
	switch wait {
	case runtime.RefusedDialog:
		return resolution{Wait: wait, Why: "a dialog is up"}
	case runtime.RefusedTyping:
		return resolution{Wait: wait, Why: typing}
	default:
		return resolution{Wait: wait, Why: unread}
	}
}

// read resolves a box without other input, of a program that is known to have read all of
// its input.
func (r *resolver) read(ctx context.Context) (resolution, error) {
	wait, err := r.atRest(ctx, boxStableFor)
	if err != nil || wait != "" {
		return unrested(wait), err
	}
	c := r.inputBox()
	switch {
	case !c.Found:
		return r.resolveOffScreen(ctx)
	case c.Empty() && !r.shows && !r.entry.Seen:
		return r.resolveOwn(ctx) // it may hide what it holds
	case !r.entry.Entered:
		return r.cleared(ctx, resolution{Verdict: withdrawn}, c.Content)
	case r.previousVerdict() != unknown:
		return r.cleared(ctx, resolution{Verdict: r.previousVerdict()}, c.Content)
	case c.Empty() && r.entry.Seen:
		return r.cleared(ctx, resolution{Verdict: accepted}, "")
	case c.Empty():
		return r.cleared(ctx, resolution{}, "")
	case r.literal():
		return r.resolveOwn(ctx) // the key that submits may be about to act
	}
	return r.cleared(ctx, resolution{Why: changedText}, c.Content)
}

const changedText = "Enter was pressed, and the input box held another text afterwards"

// literal reports whether the box shows the text in words, or by what the profile says that
// it shows for a paste: it shows a mark, too.
func (r *resolver) literal() bool {
	return resembles(r.inputBox().Content, string(r.entry.Text)) || r.isOnlyOurs()
}

// resolveOffScreen resolves a text whose input box is not on the screen, as one that is taller than
// the screen. Keys that remove text are pressed there once.
func (r *resolver) resolveOffScreen(ctx context.Context) (resolution, error) {
	r.end = time.Now().Add(resolveLimit)
	wait, err := r.atRest(ctx, r.remainingRest(screenStableFor))
	if err != nil || wait != "" {
		return unrested(wait), err
	}
	if r.inputBox().Found {
		return resolution{Wait: runtime.RefusedUnready, Why: "the input box came back only now"}, nil
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
		// Where Enter was sent, a box that comes back empty is empty.
		res.Verdict, res.Hidden, res.Why = unknown, !r.entry.Entered, offScreen
	}
	return res, err
}

// resolveOwn resolves a line without other input, by a mark.
func (r *resolver) resolveOwn(ctx context.Context) (resolution, error) {
	rest, shown, err := r.probe(ctx)
	if err != nil {
		return resolution{}, err
	}
	if !shown {
		return r.resolveUnmarked(ctx)
	}
	if !r.hasInputState() && !r.isOnlyOurs() {
		return resolution{Why: "the input box holds more than the text"}, r.unmark(ctx)
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

// resolveUnmarked resolves a box in which the mark that was typed does not show.
func (r *resolver) resolveUnmarked(ctx context.Context) (resolution, error) {
	why, wait := r.unreadableReason()
	switch {
	case why != "":
		return resolution{Wait: wait, Why: why}, nil
	case r.Snapshot.LastHuman.After(r.humanInput):
		return unrested(runtime.RefusedTyping), nil
	case r.Snapshot.Input == screen.InputWaiting:
		return unrested(runtime.RefusedUnready), nil
	}
	hidden := r.inputBox().Empty()
	res := resolution{Verdict: withdrawn}
	if r.entry.Entered {
		res.Verdict = r.previousVerdict()
	}
	if r.to.journal != nil && hidden { // before the keys that remove the mark: none is typed again
		e := inputlog.Entry{ID: r.entry.ID, Outcome: r.entry.Outcome, Evidence: r.entry.Evidence, Final: r.entry.Final, Open: true, Hidden: true}
		if err := r.to.journal.RecordOutcome(ctx, e); err != nil {
			return resolution{}, err
		}
	}
	if hidden && r.entry.Behind { // what a person typed may be in it, too: nothing is removed
		return resolution{Hidden: true, Why: notShown}, nil
	}
	r.end = time.Now().Add(resolveLimit)
	res, err := r.cleared(ctx, res, "")
	if hidden { // what it holds cannot be seen, so that it is gone cannot, either
		res.Clean, res.Hidden, res.Why = false, true, notShown
		res.Verdict = unknown
	}
	return res, err
}

// cleared returns a resolution of a line that holds what is ours and nothing else.
func (r *resolver) cleared(ctx context.Context, res resolution, rest string) (resolution, error) {
	if r.entry.Entered {
		if err := r.found(ctx, res.Verdict); err != nil {
			return resolution{}, err
		}
	}
	clean, err := r.clear(ctx, rest)
	if errors.Is(err, inputlog.ErrTouched) {
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
		res.Verdict = unknown // it may be submitted by somebody else
	}
	return res, err
}

// isOnlyOurs reports whether the line holds the text, a part of it or nothing, except
// marks. A line that is not as tall as the text shows a part, whatever is known of it.
func (r *resolver) isOnlyOurs() bool {
	c, text := r.inputBox(), string(r.entry.Text)
	c.Content = trimMarks(c.Content)
	rules := r.rules.Screen.InputBox
	rules.Scrolls = true
	h := compareContent(c, want(text), rules)
	return h == matchEmpty || h == matchOurs || strings.HasPrefix(skeleton(text), skeleton(c.Content))
}

// previousVerdict returns what a resolver found that was cut off itself.
func (r *resolver) previousVerdict() verdict {
	if v := verdict(r.entry.Outcome); v == withdrawn || v == accepted {
		return v
	}
	return unknown
}

// found records a verdict before the box is changed.
func (r *resolver) found(ctx context.Context, v verdict) error {
	if r.to.journal == nil {
		return nil
	}
	e := inputlog.Entry{ID: r.entry.ID, Outcome: string(v), Open: true}
	switch v {
	case accepted:
		e.Evidence = takenEvidence
	case unknown: // an empty box proves nothing afterwards
		e.Outcome, e.Final = string(runtime.OutcomeUnconfirmed), true
	case withdrawn:
	}
	return r.to.journal.RecordOutcome(ctx, e)
}

// resolveShared resolves a line into which a person or somebody's keys may have put something.
func (r *resolver) resolveShared(ctx context.Context) (resolution, error) {
	if r.hasInputState() {
		if wait, err := r.atRest(ctx, boxStableFor); err != nil || wait != "" {
			return unrested(wait), err
		}
	} else if err := r.waitStable(ctx); err != nil {
		return resolution{}, err
	}
	want := skeleton(string(r.entry.Text))
	ours := func() bool {
		return unmarked(r.inputBox()) == want && !r.entry.Entered && r.rules.Screen.ClearKey != ""
	}
	switch c := r.inputBox(); {
	case r.hasInputState():
		// A box that hides its content cannot be distinguished from an empty one. Nothing is
		// submitted in it that does not show.
		if !c.Empty() && ours() {
			return r.cleared(ctx, resolution{Verdict: withdrawn, Why: movedReason}, c.Content)
		}
		if c.Empty() && r.entry.Undone && !r.entry.Entered && r.previousVerdict() != accepted && !r.measured() && !r.entry.Marked {
			return r.provesUndone(ctx)
		}
		if c.Empty() && r.entry.Behind {
			return r.sharedShows(ctx, want)
		}
		if got := skeleton(c.Content); got != "" && r.entry.Marked && strings.HasPrefix(mark, got) {
			return r.cleared(ctx, resolution{Why: movedReason}, c.Content) // who typed the mark was cut off
		}
	case c.Empty() || ours(): // no draft is seen: what is on its way can be waited for
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

// sharedShows resolves a shared box that looks empty and has shown no text of ours yet: with
// a mark, unless one was typed before.
func (r *resolver) sharedShows(ctx context.Context, want string) (resolution, error) {
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

// sharedUnmarked resolves a shared box, which looked empty, in which the mark does not show.
func (r *resolver) sharedUnmarked(ctx context.Context) (resolution, error) {
	if res, settled := r.resolveMarkless(); settled {
		return res, nil
	}
	// The program had read everything and the box was empty: it shows something for the mark.
	return r.cleared(ctx, resolution{Why: movedReason}, "")
}

// sharedVerdict returns the resolution of a shared box which shows all that was sent to it.
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
	case before == accepted, before == withdrawn && r.undone(): // or a person has submitted it since
		res.Verdict = before
	case before == unknown && r.entry.Undone && !r.entry.Entered && r.undone() && !strings.Contains(got, want) && placeholders(c.Content, r.rules.Screen.InputBox) == 0:
		res.Verdict = withdrawn // what is there is somebody's
	}
	return res
}

// undone reports whether the keys that were sent to remove the text did so: those of a
// profile do. What another program shows afterwards proves nothing: it may show something
// unknown for the text. Nor does a profile where only backspaces were sent.
func (r *resolver) undone() bool {
	return !r.entry.Behind && (!r.hasInputState() || r.measured())
}

// measured reports whether a profile of the program has its keys.
func (r *resolver) measured() bool { return r.rules.Screen.InputBox.Frame != agentcli.FrameLine }

// provesUndone finds out whether the keys that were sent to remove the text, before somebody
// else's input came, work in this program: it types a mark into the empty box and removes it
// by them.
func (r *resolver) provesUndone(ctx context.Context) (resolution, error) {
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
	if key, err := clearing(r.Snapshot, r.rules); err == nil && r.rules.Screen.ClearKey != "" {
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

// effective sends keys that remove text and reports whether they came to what is expected.
func (r *resolver) effective(ctx context.Context, keys []byte, expected func() bool) (bool, error) {
	if err := r.to.input(ctx, inputlog.Clear, keys); err != nil {
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
	notShown    = "the program does not show what it is sent"
	movedReason = "other input came after it"
)

const notEmptied = "its input box cannot be emptied"

// waitStable waits until the line shows the same for a moment.
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

// clear empties the box; it reports whether it is empty and stays so.
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
		wait, err := r.atRest(ctx, emptyStableFor)
		return wait == "" && r.inputBox().Empty() && !r.Snapshot.LastHuman.After(r.humanInput), err
	}
	// A program that reads late shows the effect of its keys late, too.
	if err := r.until(ctx, func() bool { return r.inputBox().Empty() }); err != nil {
		return false, err
	}
	return r.isStillEmpty(ctx)
}

// emptyStableFor is how long a box must look empty, with all input read, after keys that
// removed its text.
const emptyStableFor = 200 * time.Millisecond

// isStillEmpty reports whether the line is empty and remains so for a moment.
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
