package prompts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/runtime"
)

// A delivery that was cut off, and whose outcome the driver never finds out, ends within
// its bound, and the next prompt is tried. Meanwhile the receipt says what it waits for.
func TestADeliveryEndsWithinItsBound(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.edit("a", func(a *agent) {
			a.undecided = 1_000_000
			a.deliver = func(_ context.Context, a *agent, _ string) (runtime.Outcome, error) {
				a.deliver = nil
				return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, nil
			}
		})
		first, second := r.send("a", "first"), r.send("a", "second")
		r.pass(10 * time.Second)
		got := r.want(first.ID, client.ReceiptInjected)
		if !strings.Contains(got.Reason, "human_typing") || got.Deadline.IsZero() || time.Until(got.Deadline) > time.Minute {
			t.Errorf("after 10s its reason is %q and its deadline %s; want human_typing, and at most 60s from the start", got.Reason, got.Deadline)
		}
		r.want(second.ID, client.ReceiptQueued)
		r.pass(51 * time.Second)
		r.want(first.ID, client.ReceiptUnconfirmed)
		r.want(second.ID, client.ReceiptConsumed)
	}, newAgent("a"))
}

// A driver that answers no call is given up at the bound too.
func TestAHangingAttemptEndsWithinItsBound(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.edit("a", func(a *agent) {
			a.deliver = func(ctx context.Context, a *agent, _ string) (runtime.Outcome, error) {
				a.deliver = nil
				<-ctx.Done()
				return runtime.Outcome{}, ctx.Err()
			}
		})
		first, second := r.send("a", "first"), r.send("a", "second")
		r.pass(61 * time.Second)
		r.want(first.ID, client.ReceiptUnconfirmed)
		r.want(second.ID, client.ReceiptConsumed)
	}, newAgent("a"))
}

// How often a text was sent and removed is kept with its receipt: a controller that is
// killed again and again does not send it for ever.
func TestSentBackIsCountedAcrossControllers(t *testing.T) {
	inBubble(t, func(r *rig) {
		sent := 0
		r.edit("a", func(a *agent) {
			a.deliver = func(_ context.Context, a *agent, text string) (runtime.Outcome, error) {
				sent++
				a.line = text
				return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: "no echo"}, nil
			}
		})
		id := r.send("a", "@").ID
		for range 10 {
			r.crash()
			r.pass(6 * time.Second)
		}
		if got := r.want(id, client.ReceiptDead); sent != 4 || !strings.Contains(got.Reason, "no echo") {
			t.Errorf("the text was sent %d times and ended with %q, want 4 times and the reason", sent, got.Reason)
		}
	}, newAgent("a"))
}

// An agent that was busy when its controller died gets no normal prompt from the next one
// before that has seen it at rest, although it takes two seconds until the agent's state is
// known again.
func TestANewControllerWaitsForFreshEvidence(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.edit("a", func(a *agent) {
			a.view.StartedAt = time.Now().Add(-time.Hour)
			a.view.Activity.State, a.view.ReadAt = runtime.ActivityBusy, time.Now()
			a.view.Activity.Confidence = "certain"
		})
		id := r.send("a", "next").ID
		r.pass(time.Second)
		r.want(id, client.ReceiptQueued)
		a := r.find("a")
		a.mu.Lock()
		a.view.Activity.State, a.view.Activity.Confidence, a.view.ReadAt = runtime.ActivityUnknown, "", time.Time{}
		a.mu.Unlock()
		r.crash()
		r.pass(2 * time.Second)
		if got := r.want(id, client.ReceiptQueued); !strings.Contains(got.Reason, "just started") {
			t.Errorf("it waits because of %q", got.Reason)
		}
		r.edit("a", func(a *agent) { // by a guess only: the report of a hook came before the controller
			a.view.Activity.State, a.view.Activity.Confidence, a.view.ReadAt, a.view.Activity.Since = runtime.ActivityBusy, "guess", time.Now(), time.Now()
		})
		r.pass(time.Minute)
		r.want(id, client.ReceiptQueued)
		r.edit("a", func(a *agent) {
			a.view.Activity.State, a.view.ReadAt, a.view.Activity.Since = runtime.ActivityIdle, time.Now(), time.Now()
		})
		r.pass(time.Second)
		r.want(id, client.ReceiptConsumed)
	}, newAgent("a"))
}

// A new controller that learns nothing of an agent tries after three seconds.
func TestANewControllerDoesNotWaitForEver(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.edit("a", func(a *agent) {
			a.view.StartedAt = time.Now().Add(-time.Hour)
			a.view.Activity.State = runtime.ActivityUnknown
			a.promptHold = "held"
		})
		id := r.send("a", "next").ID
		r.edit("a", func(a *agent) { a.promptHold = "" })
		r.pass(4 * time.Second)
		r.want(id, client.ReceiptConsumed)
	}, newAgent("a"))
}

// A prompt whose turn is aborted is not said to be consumed: it stays submitted, closed, with that
// reason. Of an agent that stopped in a turn it is not said that no turn was seen.
func TestAnAbortedTurnDoesNotConsume(t *testing.T) {
	inBubble(t, func(r *rig) {
		taken := func(_ context.Context, _ *agent, _ string) (runtime.Outcome, error) {
			return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "composer_emptied"}, nil
		}
		busy := func(a *agent) {
			a.deliver = taken
			a.view.Activity.State, a.view.Activity.Confidence, a.view.ReadAt = runtime.ActivityBusy, "certain", time.Now()
		}
		r.edit("a", func(a *agent) { a.deliver = taken })
		aborted := r.send("a", "first")
		r.pass(time.Second)
		r.edit("a", busy)
		r.want(aborted.ID, client.ReceiptSubmitted)
		r.engine.TurnAborted(r.Context(), "s-a", r.find("a").view.Instance)
		r.edit("a", func(a *agent) { a.view.Activity.State, a.view.ReadAt = runtime.ActivityIdle, time.Now() })
		r.pass(10 * time.Second)
		if got := r.want(aborted.ID, client.ReceiptSubmitted); !got.Closed || !strings.Contains(got.Reason, "turn was aborted") {
			t.Errorf("it is closed: %v, because of %q", got.Closed, got.Reason)
		}
		ended := r.send("a", "second")
		r.pass(100 * time.Millisecond)
		r.edit("a", busy)
		r.pass(time.Second)
		r.edit("a", func(a *agent) { a.end(client.StateStopped) })
		r.pass(time.Second)
		if got := r.want(ended.ID, client.ReceiptSubmitted); strings.Contains(got.Reason, "before a turn") {
			t.Errorf("its reason is %q", got.Reason)
		}
	}, newAgent("a"))
}
