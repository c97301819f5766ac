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

// probe types the mark, unless one was typed already, and returns what is before it once it
// is on the screen. It is not shown where the program has read it and shows something else,
// or nothing, for markLate. A mark is typed once: one that was not seen may be in the box.
func (r *resolver) probe(ctx context.Context) (rest string, shown bool, err error) {
	expected := r.left.Marks
	if r.left.Hidden {
		return "", false, nil
	}
	if r.left.Marks == 0 {
		expected = r.marks() + 1
		if err := r.sendMark(ctx); err != nil {
			return "", false, err
		}
	}
	box, since := boxText(r.View, r.composer()), time.Now()
	for !shown {
		if r.View.Exited || r.asking() || time.Now().After(r.end) {
			return "", false, nil
		}
		if r.View.Input == console.InputRead && time.Since(since) >= markLate {
			return "", false, nil
		}
		if err := step(ctx, r.Watch); err != nil {
			return "", false, err
		}
		if now := boxText(r.View, r.composer()); now != box || r.View.Input == console.InputWaiting {
			box, since = now, time.Now()
		}
		shown = r.View.Dialog(r.rules) == nil && r.marks() >= max(1, expected)
	}
	return unmarked(r.composer()), true, nil
}

// markLate is how long a mark may take to show once the program has read it and paints
// nothing.
const markLate = 2 * time.Second

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
// itself again when all of the marks have gone. Where it knows no backspace and the line
// holds nothing but marks, the clear key is pressed.
func (r *resolver) unmark(ctx context.Context) error {
	rest := unmarked(r.composer())
	if n := r.marks(); n > 0 {
		if err := r.to.input(ctx, journal.Clear, []byte(strings.Repeat(backspace, len(mark)*n))); err != nil {
			return err
		}
	}
	itself := func() bool { return skeleton(r.composer().Content) == rest }
	late := time.Now().Add(clearEffect)
	err := r.until(ctx, func() bool { return itself() || rest == "" && time.Now().After(late) })
	if err != nil || itself() || rest != "" || r.View.Exited {
		return err
	}
	if err := r.to.emptyLine(ctx, r.Watch, r.rules, r.composer()); err != nil {
		return err
	}
	return r.until(ctx, itself)
}

// sendMark types the mark, as a paste where the program takes pastes.
func (r *resolver) sendMark(ctx context.Context) error {
	p := []byte(mark)
	if r.View.Modes.BracketedPaste {
		p = []byte("\x1b[200~" + mark + "\x1b[201~")
	}
	end, err := ending(r.View, r.rules)
	if err != nil {
		return err
	}
	if err := r.Hold(ctx); err != nil {
		return err
	}
	return r.to.input(ctx, journal.Probe, append(end, p...))
}

// marks counts the marks at the end of the input line.
func (r *resolver) marks() (n int) {
	for s := skeleton(r.composer().Content); strings.HasSuffix(s, mark); n++ {
		s = strings.TrimSuffix(s, mark)
	}
	return n
}

// proveEmpty proves that all input has been read and the box is empty: by what the terminal
// reports of its input, or with a mark that is typed and taken away again. It returns the
// refusal of a delivery of which not a byte was sent, should that not be so.
func proveEmpty(ctx context.Context, w *console.Watch, to target, rules console.Rules) (*runtime.Outcome, error) {
	r := &resolver{Watch: w, to: to, rules: rules, end: time.Now().Add(resolveLimit), human: w.View.LastHuman}
	if r.knowsInput() {
		return r.restsEmpty(ctx)
	}
	rest, shown, err := r.probe(ctx)
	switch {
	case err != nil:
		return nil, err
	case r.View.Exited:
		return &runtime.Outcome{State: runtime.OutcomeAbsent, Detail: console.ErrExited.Error()}, nil
	case !shown && r.View.Dialog(rules) != nil:
		return refused(runtime.RefusedDialog, "a dialog came up"), nil
	case !shown:
		return refused(runtime.RefusedInputBlocked, "%s", blockedText(resolution{Why: notShown})), nil
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
		return refused(runtime.RefusedInputBlocked, "%s", blockedText(resolution{Why: notEmptied})), nil
	}
	return nil, nil
}

// restsEmpty is proveEmpty for a terminal that reports what the program has read.
func (r *resolver) restsEmpty(ctx context.Context) (*runtime.Outcome, error) {
	wait, err := r.atRest(ctx, settles)
	switch {
	case err != nil:
		return nil, err
	case r.View.Exited:
		return &runtime.Outcome{State: runtime.OutcomeAbsent, Detail: console.ErrExited.Error()}, nil
	case wait != "":
		return refused(wait, "%s", unrested(wait).Why), nil
	case !r.composer().Empty():
		return refused(runtime.RefusedTyping, "what a person typed has been read only now"), nil
	}
	return nil, nil
}
