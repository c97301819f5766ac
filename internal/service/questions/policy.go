package questions

import (
	"cmp"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// The modes of a [Policy].
const (
	Wait     = "wait"     // nothing happens: a person answers, whenever that is
	Deny     = "deny"     // a permission is refused, another question is left without an answer
	Answer   = "answer"   // the policy's answer is given
	Escalate = "escalate" // people are notified once more, and it waits on
)

// byPolicy is who has answered when the policy has.
const byPolicy = "policy"

// defaultAfter is how long a question waits for a person.
const defaultAfter = 10 * time.Minute

// Policy says what happens to a question without an answer. It is fixed when
// the question is raised. The zero value escalates after 10 minutes.
//
// A policy never answers logins, limits, and menus that the driver declines to
// answer with a reason: it escalates them. A permission or a plain question is
// what policies are for, whatever the driver thinks of it.
type Policy struct {
	Mode  string        // empty: [Escalate]
	After time.Duration // 0: 10 min
	// Answer is an option's label or number for [Answer], words if the question
	// has no options. A question that it does not fit is escalated.
	Answer string
}

// plan writes the policy into an episode that is being raised.
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

// mode returns what the policy can do about an episode.
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

// policyRequest makes a request of a policy's answer.
func policyRequest(p session.Pending, answer string) client.RespondRequest {
	if len(p.Options) == 0 {
		return client.RespondRequest{Text: answer}
	}
	return client.RespondRequest{Option: answer}
}

// policyAnswer returns the answer that the policy of an episode gives.
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
