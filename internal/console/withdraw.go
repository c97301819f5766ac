package console

import (
	"context"
	"strings"
	"time"
)

// Left is a delivery that did not come to its end: its text may be in the input line, in
// part, as a whole or not at all, or still on its way there. Nothing of it is sent any
// more, and nothing of another delivery since.
type Left struct {
	Text    string
	Entered bool // the key that submits it was sent, or was about to be
	Seen    bool // the input line held the text before that
	Touched bool // other input may have reached the line since
	Undone  bool // before that the keys were sent that take the text out
	// Found is what a resolver found that was cut off itself.
	Found Verdict
}

// Verdict is what became of a text.
type Verdict string

// The verdicts.
const (
	Unknown   Verdict = ""
	Withdrawn Verdict = "withdrawn" // the program never took it and never will
	Taken     Verdict = "submitted" // the program took it
)

// Resolution is what came of a delivery that was cut off.
type Resolution struct {
	Verdict Verdict
	// Clean: nothing of the text is in the input line or on its way there any more.
	Clean bool
	Why   string // if it is not clean or not known
}

// Prober is a Terminal that must be told of what is done to resolve a delivery.
type Prober interface {
	// Probe writes a mark behind what a delivery may have left in the input line.
	Probe(ctx context.Context, p []byte) error
	// Found notes the truth before the line is emptied, where it could be read.
	Found(ctx context.Context, v Verdict) error
}

// mark is typed behind what may be on its way to a program: it is read after all that.
const mark = "=.="

const (
	// resolveLimit bounds how long a program has to show what is in its input line.
	resolveLimit = 10 * time.Second
	// unclearSettles is how long a line must show the same to be judged without a mark.
	unclearSettles = 300 * time.Millisecond
)

// Resolve finds out what became of a text whose delivery was cut off, and takes it out of
// the input line. Where the line is ours alone, it types a mark behind everything that may
// still be on its way: when the mark is on the screen, what is before it is all there is.
// Then the line is emptied. A person's text is never touched.
func Resolve(ctx context.Context, t Terminal, rules Rules, left Left) (Resolution, error) {
	w, err := start(ctx, t)
	if err != nil {
		return Resolution{}, err
	}
	r := &resolver{watch: w, held: &lease{t: t}, rules: rules, left: left, end: time.Now().Add(resolveLimit)}
	if r.blind() {
		if left.Entered || left.Touched {
			return Resolution{Clean: true, Why: "nothing is known of this program's input line"}, nil
		}
		return Resolution{Why: "a text that was cut off may be in its input line, of which nothing is known"}, nil
	}
	defer r.held.end()
	if strings.HasSuffix(skeleton(left.Text), mark) {
		return Resolution{Why: "the text ends like a mark"}, nil
	}
	if why, err := r.open(ctx); err != nil || why != "" {
		return Resolution{Why: why}, err
	}
	if left.Touched {
		return r.shared(ctx)
	}
	return r.ours(ctx)
}

type resolver struct {
	*watch
	held  *lease
	rules Rules
	left  Left
	end   time.Time
	human time.Time
	asked time.Time // since when a dialog has been up; zero: none is
}

// asking reports whether a dialog is up and stays: whoever answers it needs the input.
func (r *resolver) asking() bool {
	if r.v.dialog(r.rules) == nil {
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

func (r *resolver) composer() composer { return r.v.readComposer(r.rules.Screen.Composer) }

// open waits until the input line is on the screen and keeps back what people type. It
// returns why it is not.
func (r *resolver) open(ctx context.Context) (why string, err error) {
	err = r.until(ctx, func() bool {
		why = r.shut()
		return why == "" && time.Since(r.v.LastOutput) >= midPaint || r.asking()
	})
	if err != nil || why != "" {
		return why, err
	}
	if err := r.renew(ctx, r.held); err != nil {
		return "", err
	}
	r.human = r.v.LastHuman
	return r.shut(), nil
}

// shut says why the input line cannot be read; empty if it can.
func (r *resolver) shut() string {
	c := r.composer()
	switch {
	case r.v.Exited:
		return ErrExited.Error()
	case r.v.humanActive(r.rules, time.Now()):
		return "a person types"
	case r.v.dialog(r.rules) != nil:
		return "a dialog is up"
	case !c.found:
		return "the input line is not on the screen"
	case r.rules.Screen.EnterWhileBusy == "ignored" && r.v.busy(r.rules.Screen, c) != "":
		return "the program takes no input during a turn"
	}
	return ""
}

// until waits for frames until done, or the limit has passed.
func (r *resolver) until(ctx context.Context, done func() bool) error {
	for !done() {
		left := time.Until(r.end)
		if left <= 0 || r.v.Exited {
			return nil
		}
		if _, err := r.next(ctx, min(left, midPaint)); err != nil { // a person's rest changes no frame
			return err
		}
	}
	return nil
}

// ours resolves a line into which nobody else has put anything.
func (r *resolver) ours(ctx context.Context) (Resolution, error) {
	rest, ok, err := r.probe(ctx)
	if err != nil || !ok {
		return Resolution{Why: "the program does not show what it is sent"}, err
	}
	res := Resolution{Verdict: Withdrawn}
	switch {
	case r.left.Found != Unknown:
		res.Verdict = r.left.Found
	case rest == "" && r.left.Entered && r.left.Seen:
		res.Verdict = Taken
	case rest == "" && r.left.Entered, rest != "" && r.rules.Screen.ClearKey == "":
		res.Verdict = Unknown
	}
	if err := r.found(ctx, res.Verdict); err != nil {
		return Resolution{}, err
	}
	clean, err := r.clear(ctx, rest)
	if res.Clean = clean; !clean {
		res.Why = notEmptied
	}
	return res, err
}

// found notes a verdict before the line is changed.
func (r *resolver) found(ctx context.Context, v Verdict) error {
	if prober, told := r.t.(Prober); told && v != Unknown {
		return prober.Found(ctx, v)
	}
	return nil
}

// shared resolves a line into which a person or somebody's keys may have put something.
func (r *resolver) shared(ctx context.Context) (Resolution, error) {
	if err := r.calm(ctx); err != nil {
		return Resolution{}, err
	}
	if empty(r.composer()) { // nobody's draft is there: what is on its way can be waited for
		if _, ok, err := r.probe(ctx); err != nil || !ok {
			return Resolution{Why: "the program does not show what it is sent"}, err
		}
		if err := r.unmark(ctx); err != nil {
			return Resolution{}, err
		}
	}
	c := r.composer()
	if !c.found || r.v.LastHuman.After(r.human) {
		return Resolution{Why: "a person types"}, nil
	}
	res := Resolution{Clean: true, Why: "other input came after it"}
	got, want := unmarked(c), skeleton(r.left.Text)
	if got == want && !r.left.Entered && r.rules.Screen.ClearKey != "" {
		if err := r.found(ctx, Withdrawn); err != nil {
			return Resolution{}, err
		}
		clean, err := r.clear(ctx, got)
		if res.Clean = clean; !clean {
			res.Why = notEmptied
		}
		res.Verdict = Withdrawn
		return res, err
	}
	if got == "" && !empty(c) {
		res.Clean, res.Why = false, notEmptied
	}
	if r.left.Found != Unknown {
		res.Verdict = r.left.Found
	} else if r.left.Undone && !r.left.Entered && !strings.Contains(got, want) && placeholders(c.content, r.rules.Screen.Composer) == 0 {
		res.Verdict = Withdrawn // what is there is somebody's
	}
	return res, nil
}

const notEmptied = "its input line cannot be emptied"

// calm waits until the line shows the same for a moment.
func (r *resolver) calm(ctx context.Context) error {
	state := r.composer().content
	for calm := time.Now().Add(unclearSettles); time.Now().Before(calm); {
		if _, err := r.next(ctx, time.Until(calm)); err != nil {
			return err
		}
		if c := r.composer().content; c != state && time.Now().Before(r.end) {
			state, calm = c, time.Now().Add(unclearSettles)
		}
	}
	return nil
}

// empty reports whether an input line is provably empty.
func empty(c composer) bool { return c.found && !c.above && strings.TrimSpace(c.content) == "" }

// probe types the mark and returns what is before it once it is on the screen.
func (r *resolver) probe(ctx context.Context) (rest string, ok bool, err error) {
	p := []byte(mark)
	if r.v.Modes.BracketedPaste {
		p = []byte("\x1b[200~" + mark + "\x1b[201~")
	}
	// A mark that is there already is of a resolver that was cut off: one more is waited for.
	for marks := r.marks(); !ok; {
		if err := r.sendMark(ctx, p); err != nil {
			return "", false, err
		}
		again := time.Now().Add(markAgain)
		err := r.until(ctx, func() bool {
			open := r.v.dialog(r.rules) == nil
			ok = open && r.marks() > marks
			return ok || r.asking() || open && time.Now().After(again) && time.Until(r.end) > markAgain
		})
		if err != nil || !ok && (r.v.Exited || r.asking() || time.Until(r.end) <= markAgain) {
			return "", false, err
		}
	}
	return unmarked(r.composer()), true, nil
}

// unmarked is what a line holds before its marks.
func unmarked(c composer) string {
	rest := skeleton(c.content)
	for strings.HasSuffix(rest, mark) {
		rest = strings.TrimSuffix(rest, mark)
	}
	return rest
}

// unmark takes the marks away and nothing else. A program may draw each key: the line is
// itself again when all of the marks have gone.
func (r *resolver) unmark(ctx context.Context) error {
	rest := unmarked(r.composer())
	if err := r.t.Send(ctx, []byte(strings.Repeat("\x7f", len(mark)*r.marks()))); err != nil {
		return err
	}
	return r.until(ctx, func() bool { return skeleton(r.composer().content) == rest })
}

// markAgain is how long a mark may take to show before another is typed: a dialog may have
// swallowed it.
const markAgain = 2 * time.Second

func (r *resolver) sendMark(ctx context.Context, p []byte) error {
	if err := r.renew(ctx, r.held); err != nil {
		return err
	}
	if prober, told := r.t.(Prober); told {
		return prober.Probe(ctx, p)
	}
	return r.t.Send(ctx, p)
}

// marks counts the marks at the end of the input line.
func (r *resolver) marks() (n int) {
	for s := skeleton(r.composer().content); strings.HasSuffix(s, mark); n++ {
		s = strings.TrimSuffix(s, mark)
	}
	return n
}

// clear empties the line; it reports whether it is empty and stays so. Without a key for
// that only a mark can be taken away.
func (r *resolver) clear(ctx context.Context, rest string) (bool, error) {
	if err := r.renew(ctx, r.held); err != nil || r.v.LastHuman.After(r.human) {
		return false, err
	}
	if r.rules.Screen.ClearKey == "" {
		if err := r.unmark(ctx); err != nil || rest != "" {
			return false, err
		}
	} else if err := r.emptyLine(ctx, r.rules, r.composer()); err != nil {
		return false, err
	}
	// A program that reads late shows the effect of its keys late, too.
	if err := r.until(ctx, func() bool { return empty(r.composer()) }); err != nil {
		return false, err
	}
	return r.stayedEmpty(ctx)
}

// stayedEmpty reports whether the line is empty and remains so for a moment.
func (r *resolver) stayedEmpty(ctx context.Context) (bool, error) {
	for end := time.Now().Add(leaving); ; {
		if r.v.Exited || r.v.LastHuman.After(r.human) || !empty(r.composer()) {
			return false, nil
		}
		changed, err := r.next(ctx, time.Until(end))
		if err != nil || !changed {
			return err == nil, err
		}
	}
}
