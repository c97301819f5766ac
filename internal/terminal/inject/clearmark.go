package inject

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

const mark = InputMark

// probe types the mark (InputMark) at the end of the input box, unless it was typed already, and waits until the mark is on
// the screen. Then the program has read all input before the mark. probe returns the text before the mark in the form of
// [skeleton]. shown is false if the mark does not appear: the program has read it and the box has not changed for markLate,
// a dialog is on the screen, or the limit has passed. A mark is typed only once, because a mark that is not visible may
// still be in the box.
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
		if r.Snapshot.Exited || r.isDialogStable() || time.Now().After(r.end) {
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

// markLate is the longest time that a mark may take to appear, after the program has read it and the box has not changed.
const markLate = 2 * time.Second

// unmarked returns the content of the input box without the marks at its end, in the form of [skeleton].
func unmarked(c screen.InputBox) string { return skeleton(trimMarks(c.Content)) }

// trimMarks returns the content without the marks at its end. A mark may be wrapped.
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

// unmark removes the marks and nothing else, and waits until the box shows the text before them. If the box contains only
// marks, it also presses the clear key, for a program that does not know backspace.
func (r *resolver) unmark(ctx context.Context) error {
	rest := unmarked(r.inputBox())
	if n := r.marks(); n > 0 {
		keys := []byte(strings.Repeat(backspace, len(mark)*n))
		if rest == "" && r.rules.Screen.ClearKey != "" {
			key, err := clearKeys(r.Snapshot, r.rules)
			if err != nil {
				return err
			}
			keys = append(keys, key...) // in one piece, so no other input comes in between
		}
		if err := r.to.Type(ctx, InputClear, keys); err != nil {
			return err
		}
	}
	return r.until(ctx, func() bool { return skeleton(r.inputBox().Content) == rest })
}

// sendMark types the mark at the end of the input box. If paste is true, the mark is sent as a bracketed paste if the
// program supports it. In a box that may contain a person's text it must be sent as keys: a program may join a paste with
// the text before it and remove both at once, so removing the mark would remove more than the mark.
func (r *resolver) sendMark(ctx context.Context, paste bool) error {
	p := []byte(mark)
	if paste && r.Snapshot.Modes.BracketedPaste {
		p = []byte(vt.PasteStart + mark + vt.PasteEnd)
	}
	end, err := endKey(r.Snapshot, r.rules)
	if err != nil {
		return err
	}
	if err := r.Hold(ctx); err != nil {
		return err
	}
	return r.to.Type(ctx, InputProbe, append(end, p...))
}

// marks counts the marks at the end of the input box.
func (r *resolver) marks() (n int) {
	for s := skeleton(r.inputBox().Content); strings.HasSuffix(s, mark); n++ {
		s = strings.TrimSuffix(s, mark)
	}
	return n
}

// proveEmpty proves that all input has been read and the box is empty. It uses the input state that the terminal reports.
// If there is none, or the box may hide its content (mayHide), it types a mark and removes it again. Without this proof a
// prompt could be appended to a person's text, and no key would remove only the prompt. If the box is not empty, it
// returns the refusal.
func proveEmpty(ctx context.Context, w *screen.Watcher, to target, rules screen.Rules, mayHide bool) (*runtime.Outcome, error) {
	r := &resolver{Watcher: w, to: to, rules: rules, end: time.Now().Add(resolveLimit), humanInput: w.Snapshot.LastHuman}
	if r.hasInputState() {
		if no, err := r.refuseUnlessEmpty(ctx); err != nil || no != nil || !mayHide {
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
		return refused(runtime.RefusedDialog, "a dialog appeared"), nil
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
		return refused(runtime.RefusedDialog, "a dialog appeared"), nil
	case !r.inputBox().Empty():
		return refused(runtime.RefusedInputBlocked, "%s", blockedText(resolution{Why: notEmptied})), nil
	case !mayHide:
		return nil, nil
	}
	return nil, to.RecordOutcome(ctx, DeliveryEntry{ID: to.id, Open: true, Shows: true})
}

const readLate = "the program has just read what a person typed, so the input box may still change"

// removeMark resolves an interrupted delivery that has sent only a mark and no text. It removes the mark from the input box
// and nothing else, because the text before the mark may belong to a person.
func (r *resolver) removeMark(ctx context.Context) (resolution, error) {
	if r.hasInputState() {
		if wait, err := r.awaitStable(ctx, boxStableFor); err != nil || wait != "" {
			return notStable(wait), err
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
	case !settled: // the box shows a person's text and no mark
		return resolution{Verdict: withdrawn, Clean: true}, nil
	case res.Why == notShown:
		res.Verdict = withdrawn
	}
	return res, nil
}

// resolveMarkless decides about a delivery whose mark is not on the screen. settled is false if it cannot decide, because
// the program shows its input and has read all of it; the mark may then have been removed.
func (r *resolver) resolveMarkless() (res resolution, settled bool) {
	why, wait := r.unreadableReason()
	switch {
	case why != "":
		return resolution{Wait: wait, Why: why}, true
	case r.Snapshot.LastHuman.After(r.humanInput):
		return notStable(runtime.RefusedTyping), true
	case r.Snapshot.Input == screen.InputWaiting:
		return notStable(runtime.RefusedUnready), true
	case r.inputBox().Empty() || !r.hasInputState():
		return resolution{Hidden: r.inputBox().Empty(), Why: notShown}, true
	}
	return resolution{}, false
}

// refuseUnlessEmpty waits until the box is stable, for a terminal that reports the input state. It returns a refusal if the
// box is not stable or not empty, and nil otherwise.
func (r *resolver) refuseUnlessEmpty(ctx context.Context) (*runtime.Outcome, error) {
	wait, err := r.awaitStable(ctx, boxStableFor)
	switch {
	case err != nil:
		return nil, err
	case r.Snapshot.Exited:
		return &runtime.Outcome{State: runtime.OutcomeAbsent, Detail: screen.ErrExited.Error()}, nil
	case wait != "":
		return refused(wait, "%s", notStable(wait).Why), nil
	case !r.inputBox().Empty():
		return refused(runtime.RefusedTyping, readLate), nil
	}
	return nil, nil
}
