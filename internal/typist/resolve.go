package typist

import (
	"context"
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

// mark is typed behind what may be on its way to a program: it is read after all that.
const mark = "=.="

const (
	// resolveLimit bounds how long a program has to show what is in its input line.
	resolveLimit = 10 * time.Second
	// unclearSettles is how long a line must show the same to be judged without a mark.
	unclearSettles = 300 * time.Millisecond
)

// resolve finds out what became of a delivery that did not come to its end, and takes its
// text out of the input line: it may be there in part, as a whole or not at all, or still
// be on its way; nothing of it is sent any more, and nothing of another delivery since. Where the line is ours alone, it types a mark behind everything that may
// still be on its way: when the mark is on the screen, what is before it is all there is.
// Then the line is emptied. A person's text is never touched.
func (to target) resolve(ctx context.Context, rules console.Rules, e journal.Entry) (resolution, error) {
	w, err := console.Follow(ctx, to.terminal)
	if err != nil {
		return resolution{}, err
	}
	defer w.Release()
	r := &resolver{Watch: w, to: to, rules: rules, left: e, end: time.Now().Add(resolveLimit)}
	if r.blind() {
		if e.Entered || e.Touched {
			return resolution{Clean: true, Why: "nothing is known of this program's input line"}, nil
		}
		return resolution{Why: "a text that was cut off may be in its input line, of which nothing is known"}, nil
	}
	if strings.HasSuffix(skeleton(string(e.Text)), mark) {
		return resolution{Why: "the text ends like a mark"}, nil
	}
	if why, err := r.open(ctx); err != nil || why != "" {
		return resolution{Why: why}, err
	}
	if e.Touched {
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
	r.human = r.View.LastHuman
	return r.shut(), nil
}

// shut says why the input line cannot be read; empty if it can.
func (r *resolver) shut() string {
	c := r.composer()
	switch {
	case r.View.Exited:
		return console.ErrExited.Error()
	case humanActive(r.View, r.rules, time.Now()):
		return "a person types"
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
		return resolution{Why: "the program does not show what it is sent"}, err
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
	if err := r.found(ctx, res.Verdict); err != nil {
		return resolution{}, err
	}
	clean, err := r.clear(ctx, rest)
	if res.Clean = clean; !clean {
		res.Why = notEmptied
	}
	return res, err
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
	if r.composer().Empty() { // nobody's draft is there: what is on its way can be waited for
		if _, ok, err := r.probe(ctx); err != nil || !ok {
			return resolution{Why: "the program does not show what it is sent"}, err
		}
		if err := r.unmark(ctx); err != nil {
			return resolution{}, err
		}
	}
	c := r.composer()
	if !c.Found || r.View.LastHuman.After(r.human) {
		return resolution{Why: "a person types"}, nil
	}
	res := resolution{Clean: true, Why: "other input came after it"}
	got, want := unmarked(c), skeleton(string(r.left.Text))
	if got == want && !r.left.Entered && r.rules.Screen.ClearKey != "" {
		if err := r.found(ctx, withdrawn); err != nil {
			return resolution{}, err
		}
		clean, err := r.clear(ctx, got)
		if res.Clean = clean; !clean {
			res.Why = notEmptied
		}
		res.Verdict = withdrawn
		return res, err
	}
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

// probe types the mark and returns what is before it once it is on the screen.
func (r *resolver) probe(ctx context.Context) (rest string, ok bool, err error) {
	p := []byte(mark)
	if r.View.Modes.BracketedPaste {
		p = []byte("\x1b[200~" + mark + "\x1b[201~")
	}
	// A mark that is there already is of a resolver that was cut off: one more is waited for.
	for marks := r.marks(); !ok; {
		if err := r.sendMark(ctx, p); err != nil {
			return "", false, err
		}
		again := time.Now().Add(markAgain)
		err := r.until(ctx, func() bool {
			open := r.View.Dialog(r.rules) == nil
			ok = open && r.marks() > marks
			return ok || r.asking() || open && time.Now().After(again) && time.Until(r.end) > markAgain
		})
		if err != nil || !ok && (r.View.Exited || r.asking() || time.Until(r.end) <= markAgain) {
			return "", false, err
		}
	}
	return unmarked(r.composer()), true, nil
}

// unmarked is what a line holds before its marks.
func unmarked(c console.Composer) string {
	rest := skeleton(c.Content)
	for strings.HasSuffix(rest, mark) {
		rest = strings.TrimSuffix(rest, mark)
	}
	return rest
}

// unmark takes the marks away and nothing else. A program may draw each key: the line is
// itself again when all of the marks have gone.
func (r *resolver) unmark(ctx context.Context) error {
	rest := unmarked(r.composer())
	if err := r.Terminal.Send(ctx, []byte(strings.Repeat("\x7f", len(mark)*r.marks()))); err != nil {
		return err
	}
	return r.until(ctx, func() bool { return skeleton(r.composer().Content) == rest })
}

// markAgain is how long a mark may take to show before another is typed: a dialog may have
// swallowed it.
const markAgain = 2 * time.Second

func (r *resolver) sendMark(ctx context.Context, p []byte) error {
	if err := r.Hold(ctx); err != nil {
		return err
	}
	return r.to.input(ctx, journal.Probe, p)
}

// marks counts the marks at the end of the input line.
func (r *resolver) marks() (n int) {
	for s := skeleton(r.composer().Content); strings.HasSuffix(s, mark); n++ {
		s = strings.TrimSuffix(s, mark)
	}
	return n
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
	} else if err := emptyLine(ctx, r.Watch, r.rules, r.composer()); err != nil {
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
