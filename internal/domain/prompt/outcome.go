package prompt

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity/runtime"
)

// Attempt is the result of one delivery attempt.
type Attempt struct {
	Outcome runtime.Outcome
	Err     error
	// Withdrawn is true if [runtime.Settle] proved that the agent did not accept the text. Unsent
	// is true if it also proved that not a byte was sent.
	Withdrawn, Unsent bool
	// WorkerRefused is true if the agent's worker fetched the prompt and refused it.
	WorkerRefused bool
	// Attached is the number of terminals that were attached to the session.
	Attached int
}

// ApplyAttempt returns the injected receipt in the state that follows from the result of its
// delivery attempt. The prompt is queued again, or becomes dead, only if the result proves that no
// byte was sent or that the text was removed again. Without that proof it becomes submitted or
// unconfirmed.
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

// RefusedByWorker returns the outcome of a delivery in which the agent's worker fetched the prompt
// and refused it. The agent did not get the prompt, so gc may send it again.
func RefusedByWorker(detail string) runtime.Outcome {
	return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn, Unsent: true, Evidence: SignWorker, Detail: detail}
}

// WorkerRefused reports whether the outcome is one that [RefusedByWorker] returns.
func WorkerRefused(out runtime.Outcome) bool {
	return out.State == runtime.OutcomeRefused && out.Reason == runtime.RefusedWithdrawn && out.Evidence == SignWorker
}

// MarkWorked returns the submitted receipt in the state consumed, because the agent reported that
// a turn worked on the prompt.
func (r Receipt) MarkWorked(at time.Time) (Receipt, error) {
	r.Evidence = WithWorked(r.Evidence)
	return r.Move(Consumed, at, r.Reason)
}

// WithWorked returns the evidence with the sign [SignWorked] added.
func WithWorked(evidence string) string {
	if evidence == "" {
		evidence = SignWorker
	}
	if strings.Contains(evidence, SignWorked) {
		return evidence
	}
	return evidence + "+" + SignWorked
}

// detailOf returns a text that explains the outcome of an attempt and its error.
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

// InputBlockedPrefix is the prefix of the reason of a receipt whose attempt found the agent's
// input blocked, see [runtime.RefusedInputBlocked].
const InputBlockedPrefix = string(runtime.RefusedInputBlocked) + ": "

// MaxSentBack is the maximum number of times that a prompt goes back into the queue after its text
// was sent.
const MaxSentBack = 3

// requeue returns the receipt back in the queue, with why as its reason. The pause until the next
// attempt may be longer if the agent's input is blocked, or if the text was sent and not accepted.
func (r Receipt) requeue(a Attempt, at time.Time, why string) (Receipt, error) {
	wait := Backoff(r.Attempts, a.Attached)
	// The text was sent and removed again, or the agent's worker refused it.
	sentBack := a.Withdrawn && (!a.Unsent || a.WorkerRefused)
	switch {
	case a.Outcome.Reason == runtime.RefusedInputBlocked:
		wait = backoff(r.Attempts, a.Attached, blockedBackoff)
	case sentBack: // the agent may accept the text a moment later
		wait = max(wait, sentBackoff<<max(0, r.SentBack-1))
	}
	r.NextAt = at.Add(wait)
	return r.Move(Queued, at, why)
}

// Cancelled returns the receipt of a prompt that its sender cancelled while it was being delivered,
// now that the result of the delivery is known. If the prompt went back into the queue, it becomes
// cancelled. If the result is unconfirmed, the reason mentions the cancellation. Otherwise the
// receipt is returned unchanged: the agent got the prompt.
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

// end returns the receipt in the state to, with this evidence and reason. In a final state no next
// attempt is scheduled.
func (r Receipt) end(to State, at time.Time, evidence, detail string) (Receipt, error) {
	r.Evidence = evidence
	moved, err := r.Move(to, at, detail)
	if moved.Final() {
		moved.NextAt = time.Time{}
	}
	return moved, err
}
