package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// next lists the allowed transitions of a receipt by state. All other transitions are errors: a
// final state has none, and only an injected prompt can have reached the agent.
var next = map[State][]State{
	Accepted:  {Queued, Expired, Dead, Cancelled},
	Queued:    {Injected, Expired, Dead, Cancelled},
	Injected:  {Queued, Submitted, Unconfirmed, Dead},
	Submitted: {Consumed, Submitted}, // Submitted to Submitted closes the receipt
}

// Advance returns nil if a receipt may change from state from to state to, else an error. It is
// defined for every pair; an unknown state has no transitions.
func Advance(from, to State) error {
	if slices.Contains(next[from], to) {
		return nil
	}
	return fmt.Errorf("a prompt that is %s cannot become %s", from, to)
}

// maxSteps is the maximum number of steps of one receipt. If there are more, the oldest steps
// after the first firstSteps are removed.
const (
	maxSteps   = 40
	firstSteps = 4
)

// Move returns a copy of the receipt in the state to, with a new step whose detail is the reason.
// It returns an error if the transition is not allowed. A move from submitted to submitted closes
// the receipt: no further report about it is expected.
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

// AddStep returns a copy of the receipt with a new step in its current state.
func (r Receipt) AddStep(at time.Time, detail string) Receipt { return r.withStep(at, detail) }

// withStep adds a step for the current state, unless the last step is equal. If there are too many steps, it removes the
// oldest after the first few.
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

// Delivering is the reason of a receipt while a delivery attempt is in progress.
const Delivering = "being delivered"

// withdrawnPrefix is the prefix of the reason of an attempt whose text was sent and removed again.
const withdrawnPrefix = "taken back unsent: "

// withoutRepeat returns the steps of a receipt without the step of the last attempt, if that
// attempt sent no bytes and was refused for the same reason as the one before it. So the history
// shows such attempts once; Attempts counts all of them.
func withoutRepeat(steps []Step, detail string) []Step {
	n := len(steps)
	if n < 3 || strings.HasPrefix(detail, withdrawnPrefix) || steps[n-1].State != Injected || steps[n-3].State != Injected ||
		steps[n-2].State != Queued || steps[n-2].Detail != detail {
		return steps
	}
	return slices.Clone(steps[:n-1])
}

// SubmittedAt returns when the agent accepted the prompt of a submitted receipt; zero in any other
// state.
func (r Receipt) SubmittedAt() time.Time {
	if r.State != Submitted {
		return time.Time{}
	}
	return r.enteredAt(Submitted)
}

// enteredAt returns when the receipt last changed to the state. It returns UpdatedAt if no step
// has the state.
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
