package inject

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

const mark = inputlog.Mark

// probe types the mark, unless one was typed already, and returns what is before it once it
// is on the screen. It is not shown where the program has read it and shows something else,
// or nothing, for markLate. A mark is typed once: one that was not seen may be in the box.
func (r *resolver) probe(ctx context.Context) (rest string, shown bool, err error) {
	expected := r.entry.Marks
	if r.entry.Hidden {
		return "", false, nil
	}
	if r.entry.Marks == 0 {
		expected = r.marks() + 1
		if err := r.sendMark(ctx, r.entry.Text != nil && !r.entry.Touched && !r.entry.Behind); err != nil {
			return "", false, err
		}
	}
	box, since := boxText(r.Snapshot, r.inputBox()), time.Now()
	for !shown {
		if r.Snapshot.Exited || r.waitForDialog() || time.Now().After(r.end) {
			return "", false, nil
		}
		if r.Snapshot.Input == screen.InputRead && time.Since(since) >= markLate {
			return "", false, nil
		}
		if err := step(ctx, r.Watcher); err != nil {
			return "", false, err
		}
		if now := boxText(r.Snapshot, r.inputBox()); now != box || r.Snapshot.Input == screen.InputWaiting {
			box, since = now, time.Now()
		}
		shown = r.Snapshot.Dialog(r.rules) == nil && r.marks() >= max(1, expected)
	}
	return unmarked(r.inputBox()), true, nil
}

// markLate is how long a mark may take to show once the program has read it and paints
// nothing.
const markLate = 2 * time.Second

// unmarked returns the skeleton of what a line holds before its marks.
func unmarked(c screen.InputBox) string { return skeleton(trimMarks(c.Content)) }

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
// itself again when all of the marks have gone. Where the line holds nothing but marks, the
// clear key is pressed too, for a program that knows no backspace.
func (r *resolver) unmark(ctx context.Context) error {
	rest := unmarked(r.inputBox())
	if n := r.marks(); n > 0 {
		keys := []byte(strings.Repeat(backspace, len(mark)*n))
		if rest == "" && r.rules.Screen.ClearKey != "" {
			key, err := clearing(r.Snapshot, r.rules)
			if err != nil {
				return err
			}
			keys = append(keys, key...) // in one piece: no other input comes in between
		}
		if err := r.to.input(ctx, inputlog.Clear, keys); err != nil {
			return err
		}
	}
	return r.until(ctx, func() bool { return skeleton(r.inputBox().Content) == rest })
}

// sendMark types the mark. Behind a text of ours it goes as a paste where the program takes
// pastes. In a box that may hold what a person typed it goes as keys: a program may show and
// remove a paste as a whole, and the backspaces of the mark would remove more than the mark.
func (r *resolver) sendMark(ctx context.Context, paste bool) error {
	p := []byte(mark)
	if paste && r.Snapshot.Modes.BracketedPaste {
		p = []byte("\x1b[200~" + mark + "\x1b[201~")
	}
	end, err := ending(r.Snapshot, r.rules)
	if err != nil {
		return err
	}
	if err := r.Hold(ctx); err != nil {
		return err
	}
	return r.to.input(ctx, inputlog.Probe, append(end, p...))
}

// marks counts the marks at the end of the input box.
func (r *resolver) marks() (n int) {
	for s := skeleton(r.inputBox().Content); strings.HasSuffix(s, mark); n++ {
		s = strings.TrimSuffix(s, mark)
	}
	return n
}

// proveEmpty proves that all input has been read and the box is empty: by what the terminal
// reports of its input, or with a mark that is typed and taken away again. The mark is needed
// too where the box may hide what it holds: a text would stand behind what a person typed, and
// no key would be known that removes the text and nothing else. It returns a refusal, without
// a byte sent, if the box is not empty.
func proveEmpty(ctx context.Context, w *screen.Watcher, to target, rules screen.Rules, mayHide bool) (*runtime.Outcome, error) {
	r := &resolver{Watcher: w, to: to, rules: rules, end: time.Now().Add(resolveLimit), humanInput: w.Snapshot.LastHuman}
	if r.hasInputState() {
		if no, err := r.isEmptyAtRest(ctx); err != nil || no != nil || !mayHide {
			return no, err
		}
	}
	rest, shown, err := r.probe(ctx)
	switch {
	case err != nil:
		return nil, err
	case r.Snapshot.Exited:
		return &runtime.Outcome{State: runtime.OutcomeAbsent, Detail: screen.ErrExited.Error()}, nil
	case !shown && r.Snapshot.Dialog(rules) != nil:
		return refused(runtime.RefusedDialog, "a dialog came up"), nil
	case !shown:
		return refused(runtime.RefusedInputBlocked, "%s", blockedText(resolution{Why: notShown})), nil
	}
	if err := r.unmark(ctx); err != nil {
		return nil, err
	}
	switch {
	case rest != "":
		return refused(runtime.RefusedTyping, readLate), nil
	case r.Snapshot.Dialog(rules) != nil:
		return refused(runtime.RefusedDialog, "a dialog came up"), nil
	case !r.inputBox().Empty():
		return refused(runtime.RefusedInputBlocked, "%s", blockedText(resolution{Why: notEmptied})), nil
	case !mayHide:
		return nil, nil
	}
	return nil, to.journal.RecordOutcome(ctx, inputlog.Entry{ID: to.id, Open: true, Shows: true})
}

const readLate = "what a person typed has been read only now"

// removeMark removes the mark of a delivery that sent nothing else, and nothing but
// that: what is before it may be a person's.
func (r *resolver) removeMark(ctx context.Context) (resolution, error) {
	if r.hasInputState() {
		if wait, err := r.atRest(ctx, boxStableFor); err != nil || wait != "" {
			return unrested(wait), err
		}
	}
	rest, shown, err := r.probe(ctx)
	switch {
	case err != nil:
		return resolution{}, err
	case shown:
		if err := r.unmark(ctx); err != nil {
			return resolution{}, err
		}
		res := resolution{Verdict: withdrawn, Clean: r.marks() == 0 && (rest != "" || r.inputBox().Empty())}
		if !res.Clean {
			res.Why = notEmptied
		}
		return res, nil
	}
	res, settled := r.resolveMarkless()
	switch {
	case !settled: // it shows what a person typed, and no mark
		return resolution{Verdict: withdrawn, Clean: true}, nil
	case res.Why == notShown:
		res.Verdict = withdrawn
	}
	return res, nil
}

// resolveMarkless returns the resolution of a box in which a mark does not show; settled is false if the
// program shows its input and has read all of it.
func (r *resolver) resolveMarkless() (res resolution, settled bool) {
	why, wait := r.unreadableReason()
	switch {
	case why != "":
		return resolution{Wait: wait, Why: why}, true
	case r.Snapshot.LastHuman.After(r.humanInput):
		return unrested(runtime.RefusedTyping), true
	case r.Snapshot.Input == screen.InputWaiting:
		return unrested(runtime.RefusedUnready), true
	case r.inputBox().Empty() || !r.hasInputState():
		return resolution{Hidden: r.inputBox().Empty(), Why: notShown}, true
	}
	return resolution{}, false
}

// isEmptyAtRest is proveEmpty for a terminal that reports what the program has read.
func (r *resolver) isEmptyAtRest(ctx context.Context) (*runtime.Outcome, error) {
	wait, err := r.atRest(ctx, boxStableFor)
	switch {
	case err != nil:
		return nil, err
	case r.Snapshot.Exited:
		return &runtime.Outcome{State: runtime.OutcomeAbsent, Detail: screen.ErrExited.Error()}, nil
	case wait != "":
		return refused(wait, "%s", unrested(wait).Why), nil
	case !r.inputBox().Empty():
		return refused(runtime.RefusedTyping, readLate), nil
	}
	return nil, nil
}
