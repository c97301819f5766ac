package waits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// verdict is the result of checking a condition. The zero value means that the condition does not
// hold yet.
type verdict struct {
	state  string // the final state of the wait; empty: still open
	reason string
}

// fulfilled returns the verdict that the condition holds.
func fulfilled(reason string) verdict { return verdict{client.WaitFulfilled, reason} }

// failed returns the verdict that the condition can never hold.
func failed(reason string) verdict { return verdict{client.WaitFailed, reason} }

// judge returns whether the condition of w on a session is met, can never be met, or is still open.
func judge(w session.Wait, v session.Snapshot) verdict {
	if v.Unknown != "" {
		return verdict{}
	}
	if w.For == client.WaitStopped {
		return judgeStopped(w, v)
	}
	if v.Running && v.Ready && isMet(w.For, v) {
		return fulfilled(detail(v))
	}
	if v.Desired == client.DesiredAbsent && !v.Running && v.State.IsDown() {
		return failed(v.Agent + " is not configured any more and does not run")
	}
	return verdict{}
}

// isMet reports whether the activity of a running session meets a condition.
func isMet(condition string, v session.Snapshot) bool {
	state := v.Activity.State
	asks := v.Pending != nil || state == runtime.ActivityWaiting
	switch condition {
	case client.WaitIdle:
		return !asks && (state == runtime.ActivityIdle || state == runtime.ActivityReady)
	case client.WaitBusy:
		return !asks && state == runtime.ActivityBusy
	case client.WaitWaiting:
		return asks
	default:
		return true
	}
}

// judgeStopped returns whether the session has stopped: it does not run, or another instance runs
// than at the start of the wait.
func judgeStopped(w session.Wait, v session.Snapshot) verdict {
	switch {
	case !v.Running && v.State.IsDown():
		return fulfilled(v.Reason)
	case w.Instance != "" && v.Instance != "" && v.Instance != w.Instance:
		return fulfilled("it stopped, and another instance runs now")
	}
	return verdict{}
}

// detail describes for people the activity that met the condition.
func detail(v session.Snapshot) string {
	text := string(v.Activity.State)
	if v.Activity.Kind != "" {
		text += " for a " + v.Activity.Kind
	}
	return text
}

// judgeReceipt returns whether the receipt with this ID has ended. A receipt that is not stored any
// more has ended, because only ended ones are deleted.
func judgeReceipt(ctx context.Context, from Prompts, id string) verdict {
	r, err := from.Receipt(ctx, id, "")
	switch {
	case errors.Is(err, client.ErrNotFound):
		return fulfilled("it is no longer stored, so it has ended")
	case err != nil || !r.Ended():
		return verdict{}
	case r.Reason != "":
		return fulfilled(r.State + ": " + r.Reason)
	default:
		return fulfilled(r.State)
	}
}

// judgeQuestion returns whether the question with this ID has ended. A question that is not stored
// any more has ended.
func judgeQuestion(ctx context.Context, from Questions, id string) verdict {
	p, err := from.Question(ctx, id)
	switch {
	case errors.Is(err, client.ErrNotFound):
		return fulfilled("it is no longer stored, so it has ended")
	case err != nil || p.State == client.PendingOpen:
		return verdict{}
	case p.Answer != "":
		return fulfilled(fmt.Sprintf("%s by %s: %s", p.State, p.AnsweredBy, p.Answer))
	default:
		return fulfilled(p.State)
	}
}

// parseTime returns the time that arg means: a time in RFC 3339, or a duration from now such as
// 90m.
func parseTime(arg string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339Nano, arg); err == nil {
		return at, nil
	}
	d, err := time.ParseDuration(arg)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("%w: %q is neither a time such as 2026-03-01T12:00:00Z nor a duration such as 90m", client.ErrInvalid, arg)
	}
	return now.Add(d), nil
}

// sentence describes the condition for people and agents.
func sentence(w session.Wait) string {
	switch {
	case slices.Contains(client.AgentConditions(), w.For):
		return fmt.Sprintf("%s is %s", w.Target, w.For)
	case w.For == client.WaitTime:
		return "it is " + w.Arg
	case w.For == client.WaitCommand:
		return fmt.Sprintf("command %q succeeds", w.Arg)
	default:
		return fmt.Sprintf("%s %s has ended", w.For, w.Arg)
	}
}
