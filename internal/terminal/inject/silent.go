package inject

import (
	"context"
	"errors"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/terminal/inputlog"
	"gascity/internal/terminal/screen"
	"gascity/internal/terminal/tty"
	"gascity/runtime"
)

// A program may take lines that the kernel collects. Then the kernel proves what no screen
// does: Enter ends the line, the program gets a finished line as a whole, and the kernel counts
// the lines that the program has not read. The kernel may show nothing of them, as after
// "stty -echo".

// lineReadEvidence is the evidence of a line that the kernel has handed to the program.
const lineReadEvidence = "line_read"

// unseenLine is why nothing is typed behind an unfinished line that is not
// visible.
const unseenLine = "a person typed, and the terminal does not show whether the line is finished: " +
	"press Enter there, or remove the line with: gc keys AGENT --clear-input"

// lineStableFor is how long no finished line must wait: what was written a moment ago may not
// be counted yet.
const lineStableFor = 200 * time.Millisecond

// silent reports whether the kernel collects the line of a program whose empty input box was
// seen, and shows nothing of it.
func (d *delivery) silent() bool { return silent(d.Snapshot, d.rules) && d.hasKnownInputBox() }

func silent(v screen.Snapshot, rules screen.Rules) bool {
	return v.Silent && rules.Screen.InputBox.Frame == agentcli.FrameLine
}

// collected reports whether the kernel collected the line that Enter has ended. The screen may
// show that line for as long as the program works on it.
func (d *delivery) collected() bool {
	return d.enter.frame.Lines && d.rules.Screen.InputBox.Frame == agentcli.FrameLine && d.hasKnownInputBox()
}

// lineRead waits until the program has read the line that Enter has ended.
func (d *delivery) lineRead(ctx context.Context) (runtime.Outcome, error) {
	read, err := awaitLineRead(ctx, d.Watcher, time.Now().Add(d.confirm))
	switch {
	case err != nil:
		return runtime.Outcome{}, err
	case d.Snapshot.Exited:
		return runtime.Outcome{}, screen.ErrExited
	case !read:
		return unconfirmed("the program has not read the line within %s", d.confirm), nil
	}
	out := runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: lineReadEvidence}
	if edge := d.edge(); edge != "" {
		out.Evidence += "+" + edge
	}
	return out, nil
}

// awaitLineRead waits until no finished line has waited for lineStableFor, until end at the
// latest.
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

// unseenText resolves a text in a line that shows nothing. One that was not ended is
// removed by the kernel; one that was ended is the program's once it is read. Behind a
// person's key nothing is removed.
func (r *resolver) unseenText(ctx context.Context) (resolution, error) {
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
	if err := r.recall(ctx); err != nil {
		return resolution{}, err
	}
	switch {
	case r.entry.Touched && r.entry.Undone, r.previousVerdict() == withdrawn:
		return resolution{Verdict: withdrawn, Clean: true}, nil
	case r.entry.Touched:
		return resolution{Clean: true, Why: movedReason}, nil
	}
	err := r.to.input(ctx, inputlog.Clear, []byte{tty.KillLine})
	if errors.Is(err, inputlog.ErrTouched) {
		return unrested(runtime.RefusedTyping), nil
	}
	return resolution{Verdict: withdrawn, Clean: err == nil}, err
}
