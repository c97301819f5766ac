package prompt

import "time"

// SignHook is the sign of evidence that a hook of the agent CLI reported the prompt as the start
// of a turn.
const SignHook = "hook"

// HookReport is the report of an agent CLI's hook about the beginning or end of a turn.
type HookReport struct {
	Session, Instance string    // Instance is the instance's public name
	Hash              string    // of the prompt that began a turn, see worker.PromptHash; empty: the turn is over
	At                time.Time // when
	Aborted           bool      // if Hash is empty: the turn was interrupted
}

// MatchesTurnStart reports whether the hook's report w, that a turn began, can be about this
// receipt: it is from the instance that got the prompt, and the delivery began before the report.
// The caller has compared the texts.
func (r Receipt) MatchesTurnStart(w HookReport) bool {
	return (r.State == Injected || r.State == Submitted) && r.Instance == w.Instance && !w.At.Before(r.enteredAt(Injected))
}

// WithHookReport returns a copy of the submitted receipt whose evidence is now the report of a
// hook, which is stronger than what was observed from outside.
func (r Receipt) WithHookReport(at time.Time) Receipt {
	r.Evidence = SignHook
	return r.AddStep(at, r.Reason)
}
