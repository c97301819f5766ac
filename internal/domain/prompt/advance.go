package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// next lists where a receipt may go from each state. What is not here never
// happens: nothing leaves a final state, and only an injected prompt can have
// reached the agent.
var next = map[State][]State{
	Accepted:  {Queued, Expired, Dead, Cancelled},
	Queued:    {Injected, Expired, Dead, Cancelled},
	Injected:  {Queued, Submitted, Unconfirmed, Dead},
	Submitted: {Consumed, Submitted}, // to itself closes it
}

// Advance returns nil if a receipt may go from one state to the other. It is
// defined for every pair; an unknown state leads to no other.
func Advance(from, to State) error {
	if slices.Contains(next[from], to) {
		return nil
	}
	return fmt.Errorf("a prompt that is %s cannot become %s", from, to)
}

// maxSteps bounds the account of one receipt; older steps in its middle are
// left out. firstSteps is how many of its beginning always stay.
const (
	maxSteps   = 40
	firstSteps = 4
)

// Move returns the receipt in another state, with a step that says why. The
// receipt itself is not changed. A step that is not allowed is an error.
func (r Receipt) Move(to State, at time.Time, detail string) (Receipt, error) {
	if err := Advance(r.State, to); err != nil {
		return r, err
	}
	if r.Closed {
		return r, fmt.Errorf("the prompt is %s and closed, it cannot become %s", r.State, to)
	}
	r.Closed = r.State == Submitted && to == Submitted
	if to == Queued && r.State == Injected {
		r.Steps = withoutRepeat(r.Steps, detail)
	}
	r.State = to
	r.Reason = detail
	return r.withStep(at, detail), nil
}

// AddStep returns the receipt with a step that does not change its state.
func (r Receipt) AddStep(at time.Time, detail string) Receipt { return r.withStep(at, detail) }

// withStep adds a step for the present state, unless the last one says the same.
func (r Receipt) withStep(at time.Time, detail string) Receipt {
	r.UpdatedAt = at
	steps := slices.Clone(r.Steps)
	if n := len(steps); n == 0 || steps[n-1].State != r.State || steps[n-1].Detail != detail {
		steps = append(steps, Step{State: r.State, At: at, Detail: detail})
	}
	if over := len(steps) - maxSteps; over > 0 {
		steps = slices.Delete(steps, firstSteps, firstSteps+over)
	}
	r.Steps = steps
	return r
}

// Delivering is the reason of a receipt while an attempt is under way.
const Delivering = "being delivered"

// withdrawnPrefix begins the reason of an attempt whose text was sent and taken back.
const withdrawnPrefix = "taken back unsent: "

// withoutRepeat leaves out the last step, an attempt that not a byte was sent by,
// if the attempt before it was refused for the same reason: the account says it
// once, and Attempts counts.
func withoutRepeat(steps []Step, detail string) []Step {
	n := len(steps)
	if n < 3 || strings.HasPrefix(detail, withdrawnPrefix) || steps[n-1].State != Injected || steps[n-3].State != Injected ||
		steps[n-2].State != Queued || steps[n-2].Detail != detail {
		return steps
	}
	return slices.Clone(steps[:n-1])
}

// SubmittedAt returns when the agent took the prompt of a submitted receipt; zero for any other.
func (r Receipt) SubmittedAt() time.Time {
	if r.State != Submitted {
		return time.Time{}
	}
	return r.enteredAt(Submitted)
}

// enteredAt returns when the receipt last came into the state, whatever was noted in it since;
// UpdatedAt if no step says so.
func (r Receipt) enteredAt(state State) time.Time {
	at, found := r.UpdatedAt, false
	for _, s := range slices.Backward(r.Steps) {
		if s.State == state {
			at, found = s.At, true
		} else if found {
			break
		}
	}
	return at
}
