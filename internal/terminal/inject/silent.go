package inject

import (
	"context"
	"errors"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// A program may read lines that the kernel edits (canonical mode). Enter finishes such a line, the program gets it as a
// whole, and the kernel reports whether finished lines are unread. This is proof of delivery even if the terminal does not
// echo, as after "stty -echo".

// lineReadEvidence is the evidence of a line that the program has read from the kernel.
const lineReadEvidence = "line_read"

// unseenLine is the reason of the refusal if an invisible unfinished line may be in the terminal.
const unseenLine = "a person typed, and the terminal does not show whether the line is finished: " +
	"press Enter there, or remove the line with: gc keys AGENT --clear-input"

// unfinishedLine is the reason of the refusal if a person has begun a line in a program whose input box gc cannot read.
const unfinishedLine = "a person typed a line and has not finished it: press Enter there, or remove it with: gc keys AGENT C-u"

// lineStableFor is the time that no finished line must wait. The kernel may not report a line yet that was written a moment
// ago.
const lineStableFor = 200 * time.Millisecond

// silent reports whether the kernel edits the line without echo, in a program whose input box was found before the paste.
func (d *delivery) silent() bool { return silent(d.Snapshot, d.rules) && d.hasKnownInputBox() }

// silent reports whether the kernel edits the line without echo, in a program with a plain prompt.
func silent(v screen.Snapshot, rules screen.Rules) bool {
	return v.Silent && rules.Screen.InputBox.Frame == agentcli.FrameLine
}

// isKernelLine reports whether the kernel edited the line that Enter has finished. The screen may show that line while the
// program works on it.
func (d *delivery) isKernelLine() bool {
	return d.enter.frame.Lines && d.rules.Screen.InputBox.Frame == agentcli.FrameLine && d.hasKnownInputBox()
}

// lineRead waits until the program has read the line that Enter has finished, and returns the outcome.
func (d *delivery) lineRead(ctx context.Context) (runtime.Outcome, error) {
	read, err := awaitLineRead(ctx, d.Watcher, time.Now().Add(d.confirm))
	switch {
	case err != nil:
		return runtime.Outcome{}, err
	case d.Snapshot.Exited:
		return runtime.Outcome{}, screen.ErrExited
	case !read:
		return unconfirmed("the program did not read the line within %s", d.confirm), nil
	}
	out := runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: lineReadEvidence}
	if change := d.edge(); change != "" { // the screen changed from idle to busy
		out.Evidence += "+" + change
	}
	return out, nil
}

// awaitLineRead waits until no finished line has been unread for lineStableFor. It returns false if the program has exited
// or end has passed.
func awaitLineRead(ctx context.Context, w *screen.Watcher, end time.Time) (bool, error) {
	for since := time.Now(); time.Since(since) < lineStableFor; {
		if w.Snapshot.Exited || time.Now().After(end) {
			return false, nil
		}
		if err := step(ctx, w); err != nil {
			return false, err
		}
		if w.Snapshot.Input == screen.InputWaiting {
			since = time.Now()
		}
	}
	return !w.Snapshot.Exited, nil
}

// resolveSilent resolves a text in a line that the kernel edits without echo. If Enter was sent, the text is accepted when
// the program has read the line. Otherwise the kill character removes the line, unless other input has arrived after the
// text.
func (r *resolver) resolveSilent(ctx context.Context) (resolution, error) {
	if r.entry.Entered {
		read, err := awaitLineRead(ctx, r.Watcher, r.end)
		switch {
		case err != nil:
			return resolution{}, err
		case r.Snapshot.Exited:
			return resolution{Wait: runtime.RefusedUnready, Why: screen.ErrExited.Error()}, nil
		case !read:
			return resolution{Wait: runtime.RefusedBusy, Why: unread}, nil
		}
		res := resolution{Verdict: accepted, Clean: true, Evidence: lineReadEvidence}
		if r.previousVerdict() == withdrawn {
			res = resolution{Verdict: withdrawn, Clean: true}
		}
		return res, nil
	}
	if err := r.Hold(ctx); err != nil {
		return resolution{}, err
	}
	if err := r.reload(ctx); err != nil {
		return resolution{}, err
	}
	switch {
	case r.entry.Touched && r.entry.Undone, r.previousVerdict() == withdrawn:
		return resolution{Verdict: withdrawn, Clean: true}, nil
	case r.entry.Touched:
		return resolution{Clean: true, Why: movedReason}, nil
	}
	err := r.to.Type(ctx, InputClear, []byte{killLine})
	if errors.Is(err, ErrTouched) {
		return notStable(runtime.RefusedTyping), nil
	}
	return resolution{Verdict: withdrawn, Clean: err == nil}, err
}
