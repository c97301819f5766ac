package prompt

import (
	"errors"
	"strings"
	"time"

	"gascity/runtime"
)

// Attempt is what came of one delivery.
type Attempt struct {
	Outcome runtime.Outcome
	Err     error
	// Withdrawn is proof that the agent did not take the text, by
	// [runtime.Settle].
	Withdrawn bool
	// GiveUp says that it has been taken back too often to be sent once more.
	GiveUp bool
	// Attached is how many terminals the session had.
	Attached int
}

// Settle returns the injected receipt after an attempt. Only an outcome that
// proves that not a byte was sent, or a withdrawal, brings it back into the
// queue; dead is only said with the same proof.
func (r Receipt) Settle(a Attempt, at time.Time) (Receipt, error) {
	out := a.Outcome
	switch {
	case a.Withdrawn && a.GiveUp:
		return r.end(Dead, at, "", "taken back unsent again and again: "+detailOf(out, a.Err))
	case a.Withdrawn:
		return r.requeue(a, at, takenBack+detailOf(out, a.Err))
	case out.State == runtime.OutcomeSubmitted:
		return r.end(Submitted, at, out.Evidence, out.Detail)
	case out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedContent:
		return r.end(Dead, at, "", "refused: "+detailOf(out, a.Err))
	case out.State == runtime.OutcomeRefused:
		return r.requeue(a, at, string(out.Reason)+": "+detailOf(out, a.Err))
	case out.State == runtime.OutcomeUnsupported:
		return r.end(Dead, at, "", "the session takes no prompts: "+detailOf(out, a.Err))
	case out.State == runtime.OutcomeAbsent && r.outlives():
		return r.requeue(a, at, "the incarnation is gone")
	case out.State == runtime.OutcomeAbsent:
		return r.end(Dead, at, "", reasonEnded)
	default:
		return r.end(Unconfirmed, at, "", detailOf(out, a.Err))
	}
}

// Worked returns the submitted receipt consumed by the agent's own word.
func (r Receipt) Worked(at time.Time) (Receipt, error) {
	r.Evidence = WithWorked(r.Evidence)
	return r.Move(Consumed, at, r.Reason)
}

// WithWorked adds the agent's own word to an evidence.
func WithWorked(evidence string) string {
	if evidence == "" {
		evidence = SignWorker
	}
	if strings.Contains(evidence, SignWorked) {
		return evidence
	}
	return evidence + "+" + SignWorked
}

// detailOf is the outcome in words.
func detailOf(out runtime.Outcome, err error) string {
	switch {
	case out.Detail != "":
		return out.Detail
	case errors.Is(err, runtime.ErrStaleInstance):
		return "another incarnation runs"
	case err != nil:
		return err.Error()
	case out.Reason != "":
		return string(out.Reason)
	default:
		return "no evidence"
	}
}

func (r Receipt) requeue(a Attempt, at time.Time, why string) (Receipt, error) {
	r.NextAt = at.Add(Backoff(r.Attempts, a.Attached))
	return r.Move(Queued, at, why)
}

func (r Receipt) end(to State, at time.Time, evidence, detail string) (Receipt, error) {
	r.Evidence = evidence
	moved, err := r.Move(to, at, detail)
	if moved.Final() {
		moved.NextAt = time.Time{}
	}
	return moved, err
}
