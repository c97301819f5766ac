package prompts_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// A delivery was interrupted, and the driver never knows the outcome. It ends within its limit, and the next
// prompt is sent. Until then the receipt says what it waits for.
func TestDeliveryEndsWithinItsLimit(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.undecided = 1_000_000
			a.deliver = func(_ context.Context, a *agent, _ string) (runtime.Outcome, error) {
				a.deliver = nil
				return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, nil
			}
		})
		first, second := r.send("a", "first"), r.send("a", "second")
		servicetest.Advance(10 * time.Second)
		got := r.want(first.ID, client.ReceiptInjected)
		if !strings.Contains(got.Reason, "human_typing") || got.Deadline.IsZero() || time.Until(got.Deadline) > time.Minute {
			t.Errorf("after 10s its reason is %q and its deadline %s; want human_typing, and at most 60s from the start", got.Reason, got.Deadline)
		}
		r.want(second.ID, client.ReceiptQueued)
		servicetest.Advance(51 * time.Second)
		r.want(first.ID, client.ReceiptUnconfirmed)
		r.want(second.ID, client.ReceiptConsumed)
	}, newAgent("a"))
}

// A call of a driver that hangs ends at the limit, too.
func TestHangingAttemptEndsWithinItsLimit(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.deliver = func(ctx context.Context, a *agent, _ string) (runtime.Outcome, error) {
				a.deliver = nil
				<-ctx.Done()
				return runtime.Outcome{}, ctx.Err()
			}
		})
		first, second := r.send("a", "first"), r.send("a", "second")
		servicetest.Advance(61 * time.Second)
		r.want(first.ID, client.ReceiptUnconfirmed)
		r.want(second.ID, client.ReceiptConsumed)
	}, newAgent("a"))
}

// The receipt counts how often a text was sent and removed again, so that controllers that are killed
// repeatedly do not send it without end.
func TestRemovedTextsAreCountedAcrossControllers(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
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
			servicetest.Advance(6 * time.Second)
		}
		if got := r.want(id, client.ReceiptDead); sent != 4 || !strings.Contains(got.Reason, "no echo") {
			t.Errorf("the text was sent %d times and ended with %q, want 4 times and the reason", sent, got.Reason)
		}
	}, newAgent("a"))
}

// An agent was busy when its controller was killed. The next controller sends no normal prompt before it has
// observed an idle agent, although it takes two seconds until the state is known.
func TestNewControllerWaitsForAnIdleAgent(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.view.StartedAt = time.Now().Add(-time.Hour)
			a.view.Activity.State, a.view.ReadAt = runtime.ActivityBusy, time.Now()
			a.view.Activity.Confidence = "certain"
		})
		id := r.send("a", "next").ID
		servicetest.Advance(time.Second)
		r.want(id, client.ReceiptQueued)
		a := r.find("a")
		a.mu.Lock()
		a.view.Activity.State, a.view.Activity.Confidence, a.view.ReadAt = runtime.ActivityUnknown, "", time.Time{}
		a.mu.Unlock()
		r.crash()
		servicetest.Advance(2 * time.Second)
		if got := r.want(id, client.ReceiptQueued); !strings.Contains(got.Reason, "just started") {
			t.Errorf("it waits because of %q", got.Reason)
		}
		r.edit("a", func(a *agent) { // a guess: the hook has reported before this controller started
			a.view.Activity.State, a.view.Activity.Confidence, a.view.ReadAt, a.view.Activity.Since = runtime.ActivityBusy, "guess", time.Now(), time.Now()
		})
		servicetest.Advance(time.Minute)
		r.want(id, client.ReceiptQueued)
		r.edit("a", func(a *agent) {
			a.view.Activity.State, a.view.ReadAt, a.view.Activity.Since = runtime.ActivityIdle, time.Now(), time.Now()
		})
		servicetest.Advance(time.Second)
		r.want(id, client.ReceiptConsumed)
	}, newAgent("a"))
}

// A new controller that cannot find out the state of an agent sends after three seconds.
func TestNewControllerWaitsAtMostThreeSeconds(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		r.edit("a", func(a *agent) {
			a.view.StartedAt = time.Now().Add(-time.Hour)
			a.view.Activity.State = runtime.ActivityUnknown
			a.promptHold = "held"
		})
		id := r.send("a", "next").ID
		r.edit("a", func(a *agent) { a.promptHold = "" })
		servicetest.Advance(4 * time.Second)
		r.want(id, client.ReceiptConsumed)
	}, newAgent("a"))
}

// A prompt whose turn is aborted is not consumed: it stays submitted and closed, with that reason. If the
// agent stopped during a turn, the reason does not say that no turn was observed.
func TestAbortedTurnDoesNotConsume(t *testing.T) {
	inVirtualTime(t, func(r *engineTest) {
		taken := func(_ context.Context, _ *agent, _ string) (runtime.Outcome, error) {
			return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "composer_emptied"}, nil
		}
		busy := func(a *agent) {
			a.deliver = taken
			a.view.Activity.State, a.view.Activity.Confidence, a.view.ReadAt = runtime.ActivityBusy, "certain", time.Now()
		}
		r.edit("a", func(a *agent) { a.deliver = taken })
		aborted := r.send("a", "first")
		servicetest.Advance(time.Second)
		r.edit("a", busy)
		r.want(aborted.ID, client.ReceiptSubmitted)
		r.engine.TurnAborted(r.Context(), "s-a", r.find("a").view.Instance)
		r.edit("a", func(a *agent) { a.view.Activity.State, a.view.ReadAt = runtime.ActivityIdle, time.Now() })
		servicetest.Advance(10 * time.Second)
		if got := r.want(aborted.ID, client.ReceiptSubmitted); !got.Closed || !strings.Contains(got.Reason, "turn was aborted") {
			t.Errorf("it is closed: %v, because of %q", got.Closed, got.Reason)
		}
		ended := r.send("a", "second")
		servicetest.Advance(100 * time.Millisecond)
		r.edit("a", busy)
		servicetest.Advance(time.Second)
		r.edit("a", func(a *agent) { a.end(client.StateStopped) })
		servicetest.Advance(time.Second)
		if got := r.want(ended.ID, client.ReceiptSubmitted); strings.Contains(got.Reason, "before a turn") {
			t.Errorf("its reason is %q", got.Reason)
		}
	}, newAgent("a"))
}
