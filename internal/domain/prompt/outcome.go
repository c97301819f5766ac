package prompt

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/runtime"
)

// Attempt is what came of one delivery.
type Attempt struct {
	Outcome runtime.Outcome
	Err     error
	// Withdrawn is proof that the agent did not take the text, by
	// [runtime.Settle]. Unsent is proof that not a byte of it was sent either.
	Withdrawn, Unsent bool
	// WorkerRefused says that the agent's worker fetched the prompt and refused it.
	WorkerRefused bool
	// Attached is how many terminals the session had.
	Attached int
}

// ApplyAttempt returns the injected receipt after an attempt. Only an outcome that
// proves that not a byte was sent, or a withdrawal, brings it back into the
// queue; dead is only said with the same proof.
func (r Receipt) ApplyAttempt(a Attempt, at time.Time) (Receipt, error) {
	out := a.Outcome
	if out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedWithdrawn {
		a.Withdrawn, a.Unsent, a.WorkerRefused = true, out.Unsent, WorkerRefused(out)
	}
	if !a.Withdrawn && (out.State == runtime.OutcomeSubmitted || out.State == runtime.OutcomeUnconfirmed) {
		r.Changes = out.Changes
	}
	switch {
	case a.Withdrawn && a.WorkerRefused && r.SentBack >= MaxSentBack:
		return r.end(Dead, at, "", fmt.Sprintf("sent %d times without success; the last time the agent's worker refused it: %s", r.SentBack+1, detailOf(out, a.Err)))
	case a.Withdrawn && a.WorkerRefused:
		r.SentBack++
		return r.requeue(a, at, "the agent's worker refused it: "+detailOf(out, a.Err))
	case a.Withdrawn && a.Unsent:
		return r.requeue(a, at, "not sent: "+detailOf(out, a.Err))
	case a.Withdrawn && r.SentBack >= MaxSentBack:
		return r.end(Dead, at, "", fmt.Sprintf("sent %d times without success; the last time its text was removed from the input box again: %s", r.SentBack+1, detailOf(out, a.Err)))
	case a.Withdrawn:
		r.SentBack++
		return r.requeue(a, at, withdrawnPrefix+detailOf(out, a.Err))
	case out.Reason == runtime.RefusedInputBlocked && out.State != runtime.OutcomeRefused:
		return r.end(Unconfirmed, at, "", InputBlockedPrefix+detailOf(out, a.Err))
	case out.State == runtime.OutcomeSubmitted:
		return r.end(Submitted, at, out.Evidence, out.Detail)
	case out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedContent:
		return r.end(Dead, at, "", "refused: "+detailOf(out, a.Err))
	case out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedChanged:
		r.ByFile = ""
		return r.end(Dead, at, "", fmt.Sprintf("refused: the agent's input box would change the text (%s); to send it as typed: gc queue retry %s --allow-changes", detailOf(out, a.Err), r.ID))
	case out.State == runtime.OutcomeRefused:
		return r.requeue(a, at, string(out.Reason)+": "+detailOf(out, a.Err))
	case out.State == runtime.OutcomeUnsupported:
		return r.end(Dead, at, "", "the session accepts no prompts: "+detailOf(out, a.Err))
	case out.State == runtime.OutcomeAbsent && r.canOutliveInstance():
		return r.requeue(a, at, "the instance is gone")
	case out.State == runtime.OutcomeAbsent:
		return r.end(Dead, at, "", reasonEnded)
	default:
		return r.end(Unconfirmed, at, "", detailOf(out, a.Err))
	}
}

// RefusedByWorker returns the outcome of a prompt that the agent's worker fetched and
// refused: the agent did not get it.
func RefusedByWorker(detail string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Unsent: true, Evidence: SignWorker, Detail: detail}
}

// WorkerRefused reports whether an outcome is one of [RefusedByWorker].
func WorkerRefused(out runtime.Outcome) bool {
	return out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedWithdrawn && out.Evidence == SignWorker
}

// MarkWorked returns the submitted receipt consumed by the agent's own word.
func (r Receipt) MarkWorked(at time.Time) (Receipt, error) {
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

// detailOf returns the outcome in words.
func detailOf(out runtime.Outcome, err error) string {
	switch {
	case out.Detail != "":
		return out.Detail
	case errors.Is(err, runtime.ErrStaleInstance):
		return "another instance runs"
	case err != nil:
		return err.Error()
	case out.Reason != "":
		return string(out.Reason)
	default:
		return "no evidence"
	}
}

// InputBlockedPrefix begins the reason of a receipt whose attempt found the agent input
// blocked, see [runtime.RefusedInputBlocked].
const InputBlockedPrefix = string(runtime.RefusedInputBlocked) + ": "

// MaxSentBack is how often a prompt goes back into the queue after its text was sent.
const MaxSentBack = 3

func (r Receipt) requeue(a Attempt, at time.Time, why string) (Receipt, error) {
	wait := Backoff(r.Attempts, a.Attached)
	switch {
	case a.Outcome.Reason == runtime.RefusedInputBlocked:
		wait = backoff(r.Attempts, a.Attached, blockedBackoff)
	case a.Withdrawn && (!a.Unsent || a.WorkerRefused): // an agent that does not take a text now may take it in a moment
		wait = max(wait, sentBackoff<<max(0, r.SentBack-1))
	}
	r.NextAt = at.Add(wait)
	return r.Move(Queued, at, why)
}

// Cancelled returns the receipt of a prompt that its sender cancelled during its delivery,
// after the attempt was settled: one that is with the agent stays as it is, one that may be
// says so, and one that provably is not is cancelled.
func (r Receipt) Cancelled(at time.Time) (Receipt, error) {
	switch r.State {
	case Queued:
		return r.end(Cancelled, at, "", "cancelled by its sender; not a byte of it is with the agent")
	case Unconfirmed:
		r.Reason = strings.TrimSuffix("cancelled by its sender during its delivery; the agent may have got it: "+r.Reason, ": ")
		return r.AddStep(at, r.Reason), nil
	default:
		return r, nil
	}
}

func (r Receipt) end(to State, at time.Time, evidence, detail string) (Receipt, error) {
	r.Evidence = evidence
	moved, err := r.Move(to, at, detail)
	if moved.Final() {
		moved.NextAt = time.Time{}
	}
	return moved, err
}
