package questions

import (
	"cmp"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// The modes of a [Policy].
const (
	Wait     = string(config.PendingWait)     // the question waits for a person without a deadline
	Deny     = string(config.PendingDeny)     // a permission is denied, any other question is cancelled
	Answer   = string(config.PendingAnswer)   // the policy's answer is sent
	Escalate = string(config.PendingEscalate) // people are notified a second time, and the question stays open
)

// byPolicy is the recorded name of the responder if the policy answers.
const byPolicy = "policy"

// defaultAfter is how long a question waits for a person if the policy sets no time.
const defaultAfter = 10 * time.Minute

// Policy decides what happens to a question without an answer. It is fixed when the question is
// raised. The zero value escalates after 10 minutes.
//
// A policy answers permission requests and plain questions. It escalates logins, limits, and menus
// for which the driver gives a reason not to answer them.
type Policy struct {
	Mode  string        // empty: [Escalate]
	After time.Duration // 0: 10 min
	// Answer is the label or number of an option for mode [Answer], or a text if the question has
	// no options. A question that the answer does not fit is escalated.
	Answer string
}

// plan sets the policy and the deadline of a new question.
func (p Policy) plan(open *session.Pending) {
	open.Policy = cmp.Or(p.Mode, Escalate)
	switch {
	case open.Policy == Wait:
		return
	case open.Kind == runtime.WaitPermission, open.Kind == runtime.WaitQuestion, open.Kind == runtime.WaitMenu && open.Why == "":
		open.Policy = p.mode(*open)
	default:
		open.Policy = Escalate
	}
	if open.Policy == Answer {
		open.Default = p.Answer
	}
	open.Deadline = open.Since.Add(cmp.Or(p.After, defaultAfter))
}

// mode returns the mode of the policy if it can be applied to the question; otherwise [Escalate].
func (p Policy) mode(open session.Pending) string {
	switch p.Mode {
	case Deny:
		return Deny
	case Answer:
		if _, err := choose(open, policyRequest(open, p.Answer)); err == nil {
			return Answer
		}
	}
	return Escalate
}

// policyRequest returns a request that answers the question p with the answer of a policy: an
// option if p has options, otherwise a text.
func policyRequest(p session.Pending, answer string) client.RespondRequest {
	if len(p.Options) == 0 {
		return client.RespondRequest{Text: answer}
	}
	return client.RespondRequest{Option: answer}
}

// policyAnswer returns the reply with which the policy of the question p answers it: the configured
// answer, a denial of a permission, or a cancellation.
func policyAnswer(p session.Pending) (reply, error) {
	switch {
	case p.Policy == Answer:
		return choose(p, policyRequest(p, p.Default))
	case p.Kind == runtime.WaitPermission:
		return reply{runtime.InteractionResponse{RequestID: p.Request, Action: runtime.ActionDeny}, "denied"}, nil
	default:
		return reply{runtime.InteractionResponse{RequestID: p.Request, Action: runtime.ActionCancel}, "cancelled"}, nil
	}
}
