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
	taken             = verdict(runtime.OutcomeSubmitted)
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
	// unclearSettles is how long a line must show the same to be judged without a mark.
	unclearSettles = 300 * time.Millisecond
	// settles is how long a box must show the same, with all input read, to be believed.
	settles = 500 * time.Millisecond
	// screenSettles is the same for a screen without an input box.
	screenSettles = 2 * time.Second
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
	w, err := screen.Follow(ctx, to.terminal)
	if err != nil {
		return resolution{}, err
	}
	defer w.Release()
	r := &resolver{Watch: w, to: to, rules: rules, left: e, end: time.Now().Add(resolveLimit)}
	res, err := r.resolve(ctx)
	if errors.Is(err, inputlog.ErrTouched) {
		return resolution{Wait: runtime.RefusedTyping, Why: typing}, nil
	}
	return res, err
}

const typing = "a person types"

func (r *resolver) resolve(ctx context.Context) (resolution, error) {
	switch {
	case r.blind():
		return r.blindly(ctx)
	case silent(r.View, r.rules) && !r.left.Seen:
		return r.unseenText(ctx)
	}
	if !r.left.Unsent && !r.knowsInput() && strings.HasSuffix(skeleton(string(r.left.Text)), mark) {
		return resolution{Why: "the text ends like a mark"}, nil
	}
	why, wait, err := r.open(ctx)
	switch {
	case err != nil:
		return resolution{}, err
	case why == offScreen && r.knowsInput():
		return r.unseen(ctx)
	case why != "":
		return resolution{Wait: wait, Why: why}, nil
	case r.left.Touched:
		return r.shared(ctx)
	case r.left.Unsent:
		return r.removeMark(ctx)
	case r.knowsInput():
		return r.read(ctx)
	}
	return r.ours(ctx)
}

// knowsInput reports whether the terminal shows what the program has read.
func (r *resolver) knowsInput() bool { return r.View.Input != screen.InputUnknown }

// blindly resolves a text in a program without a known input box. A line that the
// kernel collects is removed by the kernel.
func (r *resolver) blindly(ctx context.Context) (resolution, error) {
	switch {
	case r.left.Entered || r.left.Touched:
		return resolution{Clean: true, Why: "nothing is known of this program's input box"}, nil
	case r.View.Line == screen.LineCooked:
		err := r.to.input(ctx, inputlog.Clear, []byte{tty.KillLine})
		return resolution{Verdict: withdrawn, Clean: err == nil}, err
	}
	return resolution{Hidden: true, Why: "a text that was cut off may be in its input box, and nothing is known of that"}, nil
}

type resolver struct {
	*screen.Watch
	to    target
	rules screen.Rules
	left  inputlog.Entry
	end   time.Time
	human time.Time
	shows bool      // the box shows what is sent to it
	asked time.Time // since when a dialog has been up; zero: none is
}

// asking reports whether a dialog is up and stays: its answer needs the input.
func (r *resolver) asking() bool {
	if r.View.Dialog(r.rules) == nil {
		r.asked = time.Time{}
	} else if r.asked.IsZero() {
		r.asked = time.Now()
	}
	return !r.asked.IsZero() && time.Since(r.asked) > dialogStays
}

// dialogStays is how long a dialog must be up to be waited for no more.
const dialogStays = 300 * time.Millisecond

// blind reports whether this program's input box cannot be read.
func (r *resolver) blind() bool { return blind(r.rules) }

func blind(rules screen.Rules) bool {
	c := rules.Screen.Composer
	return c.Frame == "" || c.Frame == "line" && len(c.Marks) == 0
}

func (r *resolver) composer() screen.Composer { return r.View.Composer(r.rules.Screen.Composer) }

// open waits until the input box is on the screen and keeps back what people type. It
// returns why it is not, and why that may end by itself.
func (r *resolver) open(ctx context.Context) (why string, wait runtime.RefusalReason, err error) {
	rows, since := r.View.Rows, time.Now()
	err = r.until(ctx, func() bool {
		if !slices.Equal(rows, r.View.Rows) {
			rows, since = r.View.Rows, time.Now()
		}
		why, wait = r.shut()
		gone := why == offScreen && r.knowsInput() && time.Since(since) >= r.restLeft(screenSettles)
		return why == "" && time.Since(r.View.LastOutput) >= midPaint || r.asking() || gone
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
	r.human = r.View.LastHuman
	why, wait = r.shut()
	return why, wait, nil
}

// recall reads the account again, and then the screen: other input may have come since.
func (r *resolver) recall(ctx context.Context) error {
	if r.to.book == nil {
		return nil
	}
	j, err := r.to.book.Account(ctx, "")
	if err != nil {
		return err
	}
	r.shows = j.Shows
	if j.Last != nil && j.Last.ID == r.left.ID {
		r.left = *j.Last
	}
	f, err := r.Terminal.Frame(ctx, 0)
	if err == nil {
		r.View = screen.Look(f)
	}
	return err
}

// offScreen is why an input box cannot be read that is not there.
const offScreen = "the input box is not on the screen"

// shut says why the input box cannot be read, and why that may end by itself; empty if it
// can.
func (r *resolver) shut() (string, runtime.RefusalReason) {
	c := r.composer()
	switch {
	case r.View.Exited:
		return screen.ErrExited.Error(), runtime.RefusedUnready
	case humanActive(r.View, r.rules, time.Now()):
		return typing, runtime.RefusedTyping
	case r.View.Dialog(r.rules) != nil:
		return "a dialog is up", runtime.RefusedDialog
	case r.View.Busy(r.rules.Screen, c) != "" && (!c.Found || r.rules.Screen.EnterWhileBusy == "ignored"):
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
		if left <= 0 || r.View.Exited {
			return nil
		}
		if _, err := r.Next(ctx, min(left, midPaint)); err != nil { // a person's rest changes no frame
			return err
		}
	}
	return nil
}

// atRest waits until the program has read all of its input and the input box, or the screen
// without one, has shown the same for the given time. It returns why that did not come.
func (r *resolver) atRest(ctx context.Context, rest time.Duration) (wait runtime.RefusalReason, err error) {
	shown, since := boxText(r.View, r.composer()), time.Now()
	for time.Since(since) < rest {
		if time.Now().After(r.end) {
			return runtime.RefusedUnready, nil
		}
		if err := step(ctx, r.Watch); err != nil {
			return "", err
		}
		switch now := boxText(r.View, r.composer()); {
		case r.View.Exited:
			return runtime.RefusedUnready, nil
		case r.asking():
			return runtime.RefusedDialog, nil
		case r.View.LastHuman.After(r.human):
			return runtime.RefusedTyping, nil
		case now != shown, r.View.Input == screen.InputWaiting, !r.asked.IsZero():
			shown, since = now, time.Now()
		}
	}
	return "", nil
}

// restLeft is how long the screen must be seen at rest to have rested for d: it has shown the same
// since the last output. It is at least settles, because the program may have read its input
// only now. A short wait matters where controllers are killed one after the other.
func (r *resolver) restLeft(d time.Duration) time.Duration {
	if r.View.LastOutput.IsZero() {
		return d
	}
	return min(d, max(settles, d-time.Since(r.View.LastOutput)))
}

// unread is why a box is not judged whose program does not read.
const unread = "the program has not read what it was sent"

// unrested is the resolution of a box that did not come to rest.
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
	wait, err := r.atRest(ctx, settles)
	if err != nil || wait != "" {
		return unrested(wait), err
	}
	c := r.composer()
	switch {
	case !c.Found:
		return r.unseen(ctx)
	case c.Empty() && !r.shows && !r.left.Seen:
		return r.ours(ctx) // it may hide what it holds
	case !r.left.Entered:
		return r.cleared(ctx, resolution{Verdict: withdrawn}, c.Content)
	case r.before() != unknown:
		return r.cleared(ctx, resolution{Verdict: r.before()}, c.Content)
	case c.Empty() && r.left.Seen:
		return r.cleared(ctx, resolution{Verdict: taken}, "")
	case c.Empty():
		return r.cleared(ctx, resolution{}, "")
	case r.literal():
		return r.ours(ctx) // the key that submits may be about to act
	}
	return r.cleared(ctx, resolution{Why: changedText}, c.Content)
}

const changedText = "Enter was pressed, and the input box held another text afterwards"

// literal reports whether the box shows the text in words, or by what the profile says that
// it shows for a paste: it shows a mark, too.
func (r *resolver) literal() bool {
	return resembles(r.composer().Content, string(r.left.Text)) || r.holdsOnlyOurs()
}

// unseen resolves a text whose input box is not on the screen, as one that is taller than
// the screen. Keys that remove text are pressed there once.
func (r *resolver) unseen(ctx context.Context) (resolution, error) {
	r.end = time.Now().Add(resolveLimit)
	wait, err := r.atRest(ctx, r.restLeft(screenSettles))
	if err != nil || wait != "" {
		return unrested(wait), err
	}
	if r.composer().Found {
		return resolution{Wait: runtime.RefusedUnready, Why: "the input box came back only now"}, nil
	}
	if r.left.Touched {
		return resolution{Wait: runtime.RefusedUnready, Why: offScreen}, nil
	}
	res := resolution{Verdict: withdrawn}
	if r.left.Entered {
		res.Verdict = r.before()
	}
	res, err = r.cleared(ctx, res, "")
	if !res.Clean {
		// Where Enter was sent, a box that comes back empty is empty.
		res.Verdict, res.Hidden, res.Why = unknown, !r.left.Entered, offScreen
	}
	return res, err
}

// ours resolves a line without other input, by a mark.
func (r *resolver) ours(ctx context.Context) (resolution, error) {
	rest, shown, err := r.probe(ctx)
	if err != nil {
		return resolution{}, err
	}
	if !shown {
		return r.unmarked(ctx)
	}
	if !r.knowsInput() && !r.holdsOnlyOurs() {
		return resolution{Why: "the input box holds more than the text"}, r.unmark(ctx)
	}
	res := resolution{Verdict: withdrawn}
	switch {
	case r.before() != unknown:
		res.Verdict = r.before()
	case rest == "" && r.left.Entered && r.left.Seen:
		res.Verdict = taken
	case rest == "" && r.left.Entered:
		res.Verdict = unknown
	case r.left.Entered && !resembles(rest, string(r.left.Text)) && !r.holdsOnlyOurs():
		res.Verdict, res.Why = unknown, changedText
	}
	return r.cleared(ctx, res, rest)
}

// unmarked resolves a box in which the mark that was typed does not show.
func (r *resolver) unmarked(ctx context.Context) (resolution, error) {
	why, wait := r.shut()
	switch {
	case why != "":
		return resolution{Wait: wait, Why: why}, nil
	case r.View.LastHuman.After(r.human):
		return unrested(runtime.RefusedTyping), nil
	case r.View.Input == screen.InputWaiting:
		return unrested(runtime.RefusedUnready), nil
	}
	hidden := r.composer().Empty()
	res := resolution{Verdict: withdrawn}
	if r.left.Entered {
		res.Verdict = r.before()
	}
	if r.to.book != nil && hidden { // before the keys that remove the mark: none is typed again
		e := inputlog.Entry{ID: r.left.ID, Outcome: r.left.Outcome, Evidence: r.left.Evidence, Final: r.left.Final, Open: true, Hidden: true}
		if err := r.to.book.Settle(ctx, e); err != nil {
			return resolution{}, err
		}
	}
	if hidden && r.left.Behind { // what a person typed may be in it, too: nothing is removed
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

// cleared is a resolution of a line that holds what is ours and nothing else.
func (r *resolver) cleared(ctx context.Context, res resolution, rest string) (resolution, error) {
	if r.left.Entered {
		if err := r.found(ctx, res.Verdict); err != nil {
			return resolution{}, err
		}
	}
	clean, err := r.clear(ctx, rest)
	if errors.Is(err, inputlog.ErrTouched) {
		return resolution{}, err
	}
	res.Clean = clean
	switch wait := r.View.Input == screen.InputWaiting; {
	case clean:
	case r.View.LastHuman.After(r.human):
		res.Wait, res.Why = runtime.RefusedTyping, typing
	case wait:
		res.Wait, res.Why = runtime.RefusedUnready, unread
	default:
		res.Why = notEmptied
	}
	if !clean && res.Verdict == withdrawn && (res.Wait == "" || !r.left.Entered) {
		res.Verdict = unknown // it may be submitted by somebody else
	}
	return res, err
}

// holdsOnlyOurs reports whether the line holds the text, a part of it or nothing, except
// marks. A line that is not as tall as the text shows a part, whatever is known of it.
func (r *resolver) holdsOnlyOurs() bool {
	c, text := r.composer(), string(r.left.Text)
	c.Content = trimMarks(c.Content)
	rules := r.rules.Screen.Composer
	rules.Scrolls = true
	h := holds(c, want(text), rules)
	return h == holdsNothing || h == holdsOurs || strings.HasPrefix(skeleton(text), skeleton(c.Content))
}

// before is what a resolver found that was cut off itself.
func (r *resolver) before() verdict {
	if v := verdict(r.left.Outcome); v == withdrawn || v == taken {
		return v
	}
	return unknown
}

// found notes a verdict before the box is changed.
func (r *resolver) found(ctx context.Context, v verdict) error {
	if r.to.book == nil {
		return nil
	}
	e := inputlog.Entry{ID: r.left.ID, Outcome: string(v), Open: true}
	switch v {
	case taken:
		e.Evidence = takenEvidence
	case unknown: // an empty box proves nothing afterwards
		e.Outcome, e.Final = string(runtime.OutcomeUnconfirmed), true
	case withdrawn:
	}
	return r.to.book.Settle(ctx, e)
}

// shared resolves a line into which a person or somebody's keys may have put something.
func (r *resolver) shared(ctx context.Context) (resolution, error) {
	if r.knowsInput() {
		if wait, err := r.atRest(ctx, settles); err != nil || wait != "" {
			return unrested(wait), err
		}
	} else if err := r.calm(ctx); err != nil {
		return resolution{}, err
	}
	want := skeleton(string(r.left.Text))
	ours := func() bool {
		return unmarked(r.composer()) == want && !r.left.Entered && r.rules.Screen.ClearKey != ""
	}
	switch c := r.composer(); {
	case r.knowsInput():
		// A box that hides its content cannot be distinguished from an empty one. Nothing is
		// submitted in it that does not show.
		if !c.Empty() && ours() {
			return r.cleared(ctx, resolution{Verdict: withdrawn, Why: elsewhere}, c.Content)
		}
		if c.Empty() && r.left.Undone && !r.left.Entered && r.before() != taken && !r.measured() && !r.left.Marked {
			return r.provesUndone(ctx)
		}
		if c.Empty() && r.left.Behind {
			return r.sharedShows(ctx, want)
		}
		if got := skeleton(c.Content); got != "" && r.left.Marked && strings.HasPrefix(mark, got) {
			return r.cleared(ctx, resolution{Why: elsewhere}, c.Content) // who typed the mark was cut off
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
			return r.cleared(ctx, resolution{Verdict: withdrawn, Why: elsewhere}, rest)
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
	if r.left.Marked {
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
	if res, settled := r.markless(); settled {
		return res, nil
	}
	// The program had read everything and the box was empty: it shows something for the mark.
	return r.cleared(ctx, resolution{Why: elsewhere}, "")
}

// sharedVerdict is the resolution of a shared box which shows all that was sent to it.
func (r *resolver) sharedVerdict(want string) resolution {
	c := r.composer()
	if !c.Found || r.View.LastHuman.After(r.human) {
		return resolution{Wait: runtime.RefusedTyping, Why: typing}
	}
	res := resolution{Clean: true, Why: elsewhere}
	got := unmarked(c)
	if got == "" && !c.Empty() {
		res.Clean, res.Why = false, notEmptied
	}
	switch before := r.before(); {
	case before == taken, before == withdrawn && r.undone(): // or a person has submitted it since
		res.Verdict = before
	case before == unknown && r.left.Undone && !r.left.Entered && r.undone() && !strings.Contains(got, want) && placeholders(c.Content, r.rules.Screen.Composer) == 0:
		res.Verdict = withdrawn // what is there is somebody's
	}
	return res
}

// undone reports whether the keys that were sent to remove the text did so: those of a
// profile do. What another program shows afterwards proves nothing: it may show something
// unknown for the text. Nor does a profile where only backspaces were sent.
func (r *resolver) undone() bool {
	return !r.left.Behind && (!r.knowsInput() || r.measured())
}

// measured reports whether a profile of the program has its keys.
func (r *resolver) measured() bool { return r.rules.Screen.Composer.Frame != agentcli.FrameLine }

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
		return r.sharedVerdict(skeleton(string(r.left.Text))), err
	}
	back, err := r.effective(ctx, []byte(backspace), func() bool { return skeleton(r.composer().Content) == mark[:len(mark)-1] })
	if err != nil {
		return resolution{}, err
	}
	clears := false
	if key, err := clearing(r.View, r.rules); err == nil && r.rules.Screen.ClearKey != "" {
		if clears, err = r.effective(ctx, key, func() bool { return r.composer().Empty() }); err != nil {
			return resolution{}, err
		}
	}
	res := resolution{Why: elsewhere}
	text := string(r.left.Text)
	switch long := utf8.RuneCountInString(text) > maxBackspaces-completion; {
	case r.left.Behind && !back: // only backspaces were sent
	case back && clears && rowsOf(text) <= maxUndo, back && !long, clears && !strings.Contains(text, "\n"):
		res.Verdict = withdrawn
	}
	clean, err := r.clear(ctx, mark)
	if res.Clean = clean; !clean {
		res.Verdict, res.Why = unknown, notEmptied
		if r.View.LastHuman.After(r.human) {
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
		if time.Now().After(late) || r.View.Exited {
			return false, nil
		}
		if err := step(ctx, r.Watch); err != nil {
			return false, err
		}
		if r.View.Input == screen.InputWaiting && time.Now().Before(r.end) {
			late = time.Now().Add(clearEffect)
		}
	}
	return true, nil
}

const (
	notShown  = "the program does not show what it is sent"
	elsewhere = "other input came after it"
)

const notEmptied = "its input box cannot be emptied"

// calm waits until the line shows the same for a moment.
func (r *resolver) calm(ctx context.Context) error {
	state := r.composer().Content
	for calm := time.Now().Add(unclearSettles); time.Now().Before(calm); {
		if _, err := r.Next(ctx, time.Until(calm)); err != nil {
			return err
		}
		if c := r.composer().Content; c != state && time.Now().Before(r.end) {
			state, calm = c, time.Now().Add(unclearSettles)
		}
	}
	return nil
}

// clear empties the box; it reports whether it is empty and stays so.
func (r *resolver) clear(ctx context.Context, rest string) (bool, error) {
	if err := r.Hold(ctx); err != nil || r.View.LastHuman.After(r.human) {
		return false, err
	}
	if r.rules.Screen.ClearKey != "" || rest != "" || !r.composer().Empty() {
		if err := r.to.emptyLine(ctx, r.Watch, r.rules, r.composer(), string(r.left.Text)); err != nil {
			return false, err
		}
	}
	if r.knowsInput() {
		if !r.composer().Empty() {
			return false, nil
		}
		wait, err := r.atRest(ctx, emptySettles)
		return wait == "" && r.composer().Empty() && !r.View.LastHuman.After(r.human), err
	}
	// A program that reads late shows the effect of its keys late, too.
	if err := r.until(ctx, func() bool { return r.composer().Empty() }); err != nil {
		return false, err
	}
	return r.stayedEmpty(ctx)
}

// emptySettles is how long a box must look empty, with all input read, after keys that
// removed its text.
const emptySettles = 200 * time.Millisecond

// stayedEmpty reports whether the line is empty and remains so for a moment.
func (r *resolver) stayedEmpty(ctx context.Context) (bool, error) {
	for end := time.Now().Add(leaving); ; {
		if r.View.Exited || r.View.LastHuman.After(r.human) || !r.composer().Empty() {
			return false, nil
		}
		changed, err := r.Next(ctx, time.Until(end))
		if err != nil || !changed {
			return err == nil, err
		}
	}
}
