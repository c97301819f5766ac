package typist

import (
	"context"
	"errors"
	"strings"
	"time"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/runtime"
)

// verdict is what became of a text. It is the Outcome of its entry.
type verdict string

// The verdicts.
const (
	unknown   verdict = ""
	withdrawn verdict = journal.OutcomeWithdrawn // the program never took it and never will
	taken             = verdict(runtime.OutcomeSubmitted)
)

// resolution is what came of a delivery that was cut off.
type resolution struct {
	Verdict verdict
	// Clean: nothing of the text is in the input line or on its way there any more.
	Clean bool
	Why   string // if it is not clean or not known
}

const (
	// resolveLimit bounds how long a program has to show what is in its input line.
	resolveLimit = 10 * time.Second
	// unclearSettles is how long a line must show the same to be judged without a mark.
	unclearSettles = 300 * time.Millisecond
)

// resolve finds out what became of a delivery that did not come to its end, and takes its
// text out of the input line: it may be there in part, as a whole or not at all, or still
// be on its way; nothing of it is sent any more, and nothing of another delivery since.
// Where nobody's draft is seen, it types a mark behind everything that may still be on its
// way: when the mark is on the screen, what is before it is all there is. What is the
// text's is taken away then. A person's text is never touched: nothing is marked or taken
// away once other input has come.
func (to target) resolve(ctx context.Context, rules console.Rules, e journal.Entry) (resolution, error) {
	if e.Unsent && e.Marks == 0 {
		return resolution{Verdict: withdrawn, Clean: true}, nil
	}
	w, err := console.Follow(ctx, to.terminal)
	if err != nil {
		return resolution{}, err
	}
	defer w.Release()
	r := &resolver{Watch: w, to: to, rules: rules, left: e, end: time.Now().Add(resolveLimit)}
	res, err := r.resolve(ctx)
	if errors.Is(err, journal.ErrTouched) {
		return resolution{Why: typing}, nil
	}
	return res, err
}

const typing = "a person types"

func (r *resolver) resolve(ctx context.Context) (resolution, error) {
	if r.blind() {
		if r.left.Entered || r.left.Touched {
			return resolution{Clean: true, Why: "nothing is known of this program's input line"}, nil
		}
		return resolution{Why: "a text that was cut off may be in its input line, of which nothing is known"}, nil
	}
	if !r.left.Unsent && strings.HasSuffix(skeleton(string(r.left.Text)), mark) {
		return resolution{Why: "the text ends like a mark"}, nil
	}
	if why, err := r.open(ctx); err != nil || why != "" {
		return resolution{Why: why}, err
	}
	if r.left.Touched {
		return r.shared(ctx)
	}
	return r.ours(ctx)
}

type resolver struct {
	*console.Watch
	to    target
	rules console.Rules
	left  journal.Entry
	end   time.Time
	human time.Time
	asked time.Time // since when a dialog has been up; zero: none is
}

// asking reports whether a dialog is up and stays: whoever answers it needs the input.
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

// blind reports whether nobody could tell this program's input line.
func (r *resolver) blind() bool {
	c := r.rules.Screen.Composer
	return c.Frame == "" || c.Frame == "line" && len(c.Marks) == 0
}

func (r *resolver) composer() console.Composer { return r.View.Composer(r.rules.Screen.Composer) }

// open waits until the input line is on the screen and keeps back what people type. It
// returns why it is not.
func (r *resolver) open(ctx context.Context) (why string, err error) {
	err = r.until(ctx, func() bool {
		why = r.shut()
		return why == "" && time.Since(r.View.LastOutput) >= midPaint || r.asking()
	})
	if err != nil || why != "" {
		return why, err
	}
	if err := r.Hold(ctx); err != nil {
		return "", err
	}
	if err := r.recall(ctx); err != nil {
		return "", err
	}
	r.human = r.View.LastHuman
	return r.shut(), nil
}

// recall reads the account anew, and then the screen: other input may have come since.
func (r *resolver) recall(ctx context.Context) error {
	if r.to.book == nil {
		return nil
	}
	j, err := r.to.book.Account(ctx, "")
	if err != nil {
		return err
	}
	if j.Last != nil && j.Last.ID == r.left.ID {
		r.left = *j.Last
	}
	f, err := r.Terminal.Frame(ctx, 0)
	if err == nil {
		r.View = console.Look(f)
	}
	return err
}

// shut says why the input line cannot be read; empty if it can.
func (r *resolver) shut() string {
	c := r.composer()
	switch {
	case r.View.Exited:
		return console.ErrExited.Error()
	case humanActive(r.View, r.rules, time.Now()):
		return typing
	case r.View.Dialog(r.rules) != nil:
		return "a dialog is up"
	case !c.Found:
		return "the input line is not on the screen"
	case r.rules.Screen.EnterWhileBusy == "ignored" && r.View.Busy(r.rules.Screen, c) != "":
		return "the program takes no input during a turn"
	}
	return ""
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

// ours resolves a line into which nobody else has put anything.
func (r *resolver) ours(ctx context.Context) (resolution, error) {
	rest, ok, err := r.probe(ctx)
	if err != nil || !ok {
		return resolution{Why: notShown}, err
	}
	if r.left.Unsent {
		err := r.unmark(ctx)
		return resolution{Verdict: withdrawn, Clean: err == nil}, err
	}
	if !r.holdsOnlyOurs() {
		return resolution{Why: "the input line holds more than the text"}, r.unmark(ctx)
	}
	res := resolution{Verdict: withdrawn}
	switch {
	case r.before() != unknown:
		res.Verdict = r.before()
	case rest == "" && r.left.Entered && r.left.Seen:
		res.Verdict = taken
	case rest == "" && r.left.Entered, rest != "" && r.rules.Screen.ClearKey == "":
		res.Verdict = unknown
	}
	return r.cleared(ctx, res, rest)
}

// cleared is a resolution of a line that holds what is ours and nothing else.
func (r *resolver) cleared(ctx context.Context, res resolution, rest string) (resolution, error) {
	if err := r.found(ctx, res.Verdict); err != nil {
		return resolution{}, err
	}
	clean, err := r.clear(ctx, rest)
	if res.Clean = clean; !clean {
		res.Why = notEmptied
	}
	return res, err
}

// holdsOnlyOurs reports whether the line holds the text, a part of it or nothing, but for
// marks. A line that is not as tall as the text shows a part, whatever is known of it.
func (r *resolver) holdsOnlyOurs() bool {
	c, text := r.composer(), string(r.left.Text)
	c.Content = trimMarks(c.Content)
	rules := r.rules.Screen.Composer
	rules.Scrolls = true
	h := holds(c, text, rules)
	return h == holdsNothing || h == holdsOurs || strings.HasPrefix(skeleton(text), skeleton(c.Content))
}

// before is what a resolver found that was cut off itself.
func (r *resolver) before() verdict {
	if v := verdict(r.left.Outcome); v == withdrawn || v == taken {
		return v
	}
	return unknown
}

// found notes a verdict before the line is changed.
func (r *resolver) found(ctx context.Context, v verdict) error {
	if r.to.book == nil || v == unknown {
		return nil
	}
	e := journal.Entry{ID: r.left.ID, Outcome: string(v), Open: true}
	if v == taken {
		e.Evidence = takenEvidence
	}
	return r.to.book.Settle(ctx, e)
}

// shared resolves a line into which a person or somebody's keys may have put something.
func (r *resolver) shared(ctx context.Context) (resolution, error) {
	if err := r.calm(ctx); err != nil {
		return resolution{}, err
	}
	want := skeleton(string(r.left.Text))
	ours := func() bool {
		return unmarked(r.composer()) == want && !r.left.Entered && r.rules.Screen.ClearKey != ""
	}
	if r.composer().Empty() || ours() { // no draft is seen: what is on its way can be waited for
		rest, ok, err := r.probe(ctx)
		if err != nil || !ok {
			return resolution{Why: notShown}, err
		}
		if rest != "" && ours() {
			return r.cleared(ctx, resolution{Verdict: withdrawn, Why: elsewhere}, rest)
		}
		if err := r.unmark(ctx); err != nil {
			return resolution{}, err
		}
	}
	c := r.composer()
	if !c.Found || r.View.LastHuman.After(r.human) {
		return resolution{Why: typing}, nil
	}
	res := resolution{Clean: true, Why: elsewhere}
	got := unmarked(c)
	if got == "" && !c.Empty() {
		res.Clean, res.Why = false, notEmptied
	}
	if r.before() != unknown {
		res.Verdict = r.before()
	} else if r.left.Undone && !r.left.Entered && !strings.Contains(got, want) && placeholders(c.Content, r.rules.Screen.Composer) == 0 {
		res.Verdict = withdrawn // what is there is somebody's
	}
	return res, nil
}

const (
	notShown  = "the program does not show what it is sent"
	elsewhere = "other input came after it"
)

const notEmptied = "its input line cannot be emptied"

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

// clear empties the line; it reports whether it is empty and stays so. Without a key for
// that only a mark can be taken away.
func (r *resolver) clear(ctx context.Context, rest string) (bool, error) {
	if err := r.Hold(ctx); err != nil || r.View.LastHuman.After(r.human) {
		return false, err
	}
	if r.rules.Screen.ClearKey == "" {
		if err := r.unmark(ctx); err != nil || rest != "" {
			return false, err
		}
	} else if err := r.to.emptyLine(ctx, r.Watch, r.rules, r.composer()); err != nil {
		return false, err
	}
	// A program that reads late shows the effect of its keys late, too.
	if err := r.until(ctx, func() bool { return r.composer().Empty() }); err != nil {
		return false, err
	}
	return r.stayedEmpty(ctx)
}

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
