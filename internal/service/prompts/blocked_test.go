package prompts_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// While an agent's input box is blocked, its prompts wait with that reason, the driver is asked again at
// growing intervals, and the session counts as input blocked, also for the next controller. The state ends
// when the box is empty.
func TestInputBlocked(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		tries := 0
		r.edit("a", func(a *agent) {
			a.deliver = func(context.Context, *agent, string) (runtime.Outcome, error) {
				tries++
				return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedInputBlocked, Detail: "the box holds [pasted 3]"}, nil
			}
		})
		first, second := r.send("a", "first"), r.send("a", "second")
		servicetest.Advance(10 * time.Minute)
		for _, id := range []string{first.ID, second.ID} {
			if got := r.want(id, client.ReceiptQueued); !strings.Contains(got.Reason, "input_blocked: the box holds [pasted 3]") {
				t.Errorf("%s waits because of %q", id, got.Reason)
			}
		}
		if tries > 25 {
			t.Errorf("the driver was asked %d times in 10 minutes", tries)
		}
		instance := r.find("a").view.Instance
		blocked := func(when string, want string) {
			t.Helper()
			if why, _ := r.engine.InputBlocked("s-a", instance); why != want {
				t.Errorf("%s the session is input blocked because of %q, want %q", when, why, want)
			}
		}
		blocked("after the refusal", "the box holds [pasted 3]")
		r.crash()
		blocked("under the next controller", "the box holds [pasted 3]")
		if why, _ := r.engine.InputBlocked("s-a", "another"); why != "" {
			t.Errorf("another instance is input blocked: %q", why)
		}
		r.edit("a", func(a *agent) { a.deliver = nil })
		r.engine.InputCleared(t.Context(), "s-a")
		servicetest.Advance(time.Second)
		blocked("after the box was emptied", "")
		r.want(first.ID, client.ReceiptConsumed)
		r.want(second.ID, client.ReceiptConsumed)
		events, _, _ := r.city.Log.After(t.Context(), 0)
		var kinds []string
		for _, e := range events {
			if strings.HasPrefix(e.Kind, "input.") {
				kinds = append(kinds, e.Kind)
			}
		}
		if !slices.Equal(kinds, []string{"input.blocked", "input.unblocked"}) {
			t.Errorf("the events are %v", kinds)
		}
	}, newAgent("a"))
}

// A delivery that ends unconfirmed because its own text cannot be removed also marks the session as blocked,
// although no prompt waits.
func TestInputBlockedByItsOwnText(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.deliver = func(context.Context, *agent, string) (runtime.Outcome, error) {
				return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedInputBlocked, Detail: "the box holds [pasted 3]"}, nil
			}
			a.settled = &runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedInputBlocked, Detail: "the box holds [pasted 3]"}
		})
		first := r.send("a", "first")
		servicetest.Advance(time.Second)
		r.want(first.ID, client.ReceiptUnconfirmed)
		r.crash()
		if why, _ := r.engine.InputBlocked("s-a", r.find("a").view.Instance); why == "" {
			t.Error("the session is not input blocked")
		}
		r.engine.RecheckInput(t.Context(), "s-a")
		if why, _ := r.engine.InputBlocked("s-a", r.find("a").view.Instance); why != "" {
			t.Errorf("after keys, and no prompt waits, it is input blocked: %q", why)
		}
	}, newAgent("a"))
}
