package prompt

import "time"

// SignHook is the sign of evidence that a hook of the agent CLI has named the prompt as
// what began a turn.
const SignHook = "hook"

// HookReport is what a hook of an agent CLI says of the prompts that reach its agent.
type HookReport struct {
	Session, Instance string    // Instance is the instance's public name
	Hash              string    // of the prompt that has begun a turn, see worker.PromptHash; empty: the turn is over
	At                time.Time // when
	Aborted           bool      // with no Hash: the turn was interrupted, and did not come to its end
}

// MatchesTurnStart reports whether a word about a prompt with the receipt's text can be about
// the receipt's: its instance had it handed over before.
func (r Receipt) MatchesTurnStart(w HookReport) bool {
	return (r.State == Injected || r.State == Submitted) && r.Instance == w.Instance && !w.At.Before(r.enteredAt(Injected))
}

// WithHookReport returns the submitted receipt with the better evidence of a hook.
func (r Receipt) WithHookReport(at time.Time) Receipt {
	r.Evidence = SignHook
	return r.AddStep(at, r.Reason)
}
