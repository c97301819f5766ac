package prompt

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gascity/runtime"
)

var states = []State{Accepted, Queued, Injected, Submitted, Consumed, Expired, Dead, Cancelled, Unconfirmed}

// TestAdvanceIsTotal checks for every pair of states, and for unknown states, whether a receipt may
// change from one to the other.
func TestAdvanceIsTotal(t *testing.T) {
	allowed := map[string]bool{
		"accepted>queued": true, "accepted>expired": true, "accepted>dead": true, "accepted>cancelled": true,
		"queued>injected": true, "queued>expired": true, "queued>dead": true, "queued>cancelled": true,
		"injected>queued": true, "injected>submitted": true, "injected>unconfirmed": true, "injected>dead": true,
		"submitted>consumed": true, "submitted>submitted": true,
	}
	words := append([]State{"", "delivered"}, states...)
	for _, from := range words {
		for _, to := range words {
			pair := fmt.Sprintf("%s>%s", from, to)
			if err := Advance(from, to); (err == nil) != allowed[pair] {
				t.Errorf("Advance(%s) = %v, want allowed: %v", pair, err, allowed[pair])
			}
		}
		if from.Final() && len(next[from]) > 0 {
			t.Errorf("%s is final and leads to %v", from, next[from])
		}
	}
}

// TestMoveReturnsACopy checks that Move does not change the receipt that it is called on.
func TestMoveReturnsACopy(t *testing.T) {
	at := time.Unix(1000, 0)
	before := Receipt{State: Queued, Steps: make([]Step, 1, 8)}
	before.Steps[0] = Step{State: Queued, At: at}
	after, err := before.Move(Injected, at.Add(time.Second), "")
	if err != nil || after.State != Injected || len(after.Steps) != 2 || before.State != Queued || len(before.Steps) != 1 || before.Steps[:2][1].State != "" {
		t.Errorf("Move made %+v of %+v, %v", after, before, err)
	}
	if same, err := after.Move(Cancelled, at, ""); err == nil || same.State != Injected {
		t.Errorf("an injected prompt was cancelled: %+v", same)
	}
}

// TestStepsAreBounded checks that the steps of a prompt that is refused for a day do not grow
// without limit, and have each reason once.
func TestStepsAreBounded(t *testing.T) {
	at := time.Unix(1000, 0)
	r := Receipt{State: Accepted, Steps: []Step{{State: Accepted, At: at}}}
	r, _ = r.Move(Queued, at, "")
	for i := range 1000 {
		at = at.Add(time.Second)
		r, _ = r.Move(Injected, at, "")
		r, _ = r.Move(Queued, at, "busy")
		if i > 500 {
			r, _ = r.Move(Injected, at, "")
			r, _ = r.Move(Queued, at, fmt.Sprint("reason ", i))
		}
		if i == 500 && len(r.Steps) != 4 {
			t.Fatalf("500 refusals for one reason made %d steps, want 4: %v", len(r.Steps), r.Steps)
		}
	}
	if len(r.Steps) != maxSteps || r.Steps[0].State != Accepted {
		t.Errorf("the receipt has %d steps and begins with %v", len(r.Steps), r.Steps[0])
	}
}

// TestStepsHaveEachRemovedText checks that the steps of a receipt have each attempt whose text was
// sent and removed again.
func TestStepsHaveEachRemovedText(t *testing.T) {
	at := time.Unix(1000, 0)
	r := Receipt{State: Queued, Steps: []Step{{State: Queued, At: at}}}
	for range 3 {
		r, _ = r.Move(Injected, at, "")
		r, _ = r.ApplyAttempt(Attempt{Withdrawn: true, Outcome: runtime.Outcome{Detail: "no echo"}}, at)
	}
	var got []State
	for _, s := range r.Steps {
		got = append(got, s.State)
	}
	if want := []State{Queued, Injected, Queued, Injected, Queued, Injected, Queued}; !slices.Equal(got, want) || r.Reason != "taken back unsent: no echo" {
		t.Errorf("the steps are %v because of %q, want %v", got, r.Reason, want)
	}
}

// TestClosedReceiptIsFinal checks that a receipt that is closed in the state submitted has the
// reason and can never change again.
func TestClosedReceiptIsFinal(t *testing.T) {
	at := time.Unix(1000, 0)
	taken := Receipt{State: Submitted, Evidence: "composer"}
	closed, err := taken.Move(Submitted, at, "its agent ended")
	if err != nil || !closed.Final() || taken.Final() || closed.Reason != "its agent ended" || closed.Evidence != "composer" {
		t.Errorf("closed = %+v, %v", closed, err)
	}
	for _, to := range states {
		if again, err := closed.Move(to, at, ""); err == nil || again.State != Submitted || !again.Closed {
			t.Errorf("a closed receipt went to %s: %+v", to, again)
		}
	}
}
