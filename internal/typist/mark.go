package typist

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/console"
	"gascity/internal/journal"
	"gascity/runtime"
)

const mark = journal.Mark

// probe types the mark and returns what is before it once it is on the screen.
func (r *resolver) probe(ctx context.Context) (rest string, ok bool, err error) {
	p := []byte(mark)
	if r.View.Modes.BracketedPaste {
		p = []byte("\x1b[200~" + mark + "\x1b[201~")
	}
	end, err := ending(r.View, r.rules)
	if err != nil {
		return "", false, err
	}
	p = append(end, p...)
	// A mark that is there already is of a resolver that was cut off: one more is waited for.
	began, marks := time.Now(), r.marks()
	expected := max(marks, r.left.Marks)
	for !ok {
		if err := r.sendMark(ctx, p); err != nil {
			return "", false, err
		}
		expected++
		again, swallowed := time.Now().Add(markAgain), false
		err := r.until(ctx, func() bool {
			open := r.View.Dialog(r.rules) == nil
			ok, swallowed = open && r.marks() > marks, swallowed || !open
			return ok || r.asking() || open && swallowed && time.Now().After(again) && time.Until(r.end) > markAgain
		})
		if err != nil || !ok && (r.View.Exited || r.asking() || time.Until(r.end) <= markAgain) {
			return "", false, err
		}
	}
	// Others may be on their way still, unless a dialog has swallowed them.
	late := time.Now().Add(time.Since(began) + markAgain)
	err = r.until(ctx, func() bool { return r.marks() >= expected || time.Now().After(late) })
	return unmarked(r.composer()), err == nil, err
}

// unmarked is the skeleton of what a line holds before its marks.
func unmarked(c console.Composer) string { return skeleton(trimMarks(c.Content)) }

// trimMarks returns what a line holds before its marks. They may be wrapped.
func trimMarks(content string) string {
	for strings.HasSuffix(skeleton(content), mark) {
		for left := len(mark); left > 0; {
			r, size := utf8.DecodeLastRuneInString(content)
			content = content[:len(content)-size]
			if strings.ContainsRune(mark, r) {
				left--
			}
		}
	}
	return content
}

// unmark takes the marks away and nothing else. A program may draw each key: the line is
// itself again when all of the marks have gone.
func (r *resolver) unmark(ctx context.Context) error {
	rest := unmarked(r.composer())
	if n := r.marks(); n > 0 {
		if err := r.to.input(ctx, journal.Clear, []byte(strings.Repeat("\x7f", len(mark)*n))); err != nil {
			return err
		}
	}
	return r.until(ctx, func() bool { return skeleton(r.composer().Content) == rest })
}

// markAgain is how long a mark that a dialog may have swallowed may take to show before
// another is typed.
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

// proveEmpty proves that all input has been read and the line is empty, with a mark that is
// typed and taken away again. It returns the refusal of a delivery of which not a byte was
// sent, should that not be so.
func proveEmpty(ctx context.Context, w *console.Watch, to target, rules console.Rules) (*runtime.Outcome, error) {
	r := &resolver{Watch: w, to: to, rules: rules, end: time.Now().Add(resolveLimit)}
	rest, ok, err := r.probe(ctx)
	switch {
	case err != nil:
		return nil, err
	case r.View.Exited:
		return &runtime.Outcome{State: runtime.OutcomeAbsent, Detail: console.ErrExited.Error()}, nil
	case !ok:
		return refused(runtime.RefusedUnready, notShown), nil
	}
	if err := r.unmark(ctx); err != nil {
		return nil, err
	}
	switch {
	case rest != "":
		return refused(runtime.RefusedTyping, "what a person typed has been read only now"), nil
	case r.View.Dialog(rules) != nil:
		return refused(runtime.RefusedDialog, "a dialog came up"), nil
	case !r.composer().Empty():
		return refused(runtime.RefusedUnready, notEmptied), nil
	}
	return nil, nil
}
