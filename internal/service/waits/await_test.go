package waits

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/servicetest"
)

func activity(state runtime.Activity) func(*session.Snapshot) {
	return func(v *session.Snapshot) { v.Activity = session.Activity{State: state} }
}

func ended(state session.State) func(*session.Snapshot) {
	return func(v *session.Snapshot) { v.Running, v.Ready, v.Instance, v.State = false, false, "", state }
}

func TestEveryConditionOfASession(t *testing.T) {
	asking := func(v *session.Snapshot) { v.Pending = &runtime.PendingInteraction{RequestID: "r"} }
	for name, c := range map[string]struct {
		condition string
		not       []func(*session.Snapshot) // none of these fulfils it
		then      func(*session.Snapshot)
	}{
		"idle": {client.WaitIdle, []func(*session.Snapshot){
			activity(runtime.ActivityUnknown), activity(runtime.ActivityBackground), activity(runtime.ActivityLimited), activity(runtime.ActivityWaiting),
			func(v *session.Snapshot) { activity(runtime.ActivityIdle)(v); asking(v) },
			func(v *session.Snapshot) { activity(runtime.ActivityIdle)(v); v.Ready = false },
			func(v *session.Snapshot) { activity(runtime.ActivityIdle)(v); v.Unknown = "away" },
			func(v *session.Snapshot) { activity(runtime.ActivityIdle)(v); v.Running = false },
			ended(session.StateFailed),
		}, activity(runtime.ActivityIdle)},
		"ready":   {client.WaitIdle, nil, activity(runtime.ActivityReady)},
		"busy":    {client.WaitBusy, []func(*session.Snapshot){activity(runtime.ActivityIdle), activity(runtime.ActivityUnknown), func(v *session.Snapshot) { asking(v) }}, activity(runtime.ActivityBusy)},
		"waiting": {client.WaitWaiting, []func(*session.Snapshot){activity(runtime.ActivityIdle), activity(runtime.ActivityBusy)}, asking},
		"asked":   {client.WaitWaiting, nil, activity(runtime.ActivityWaiting)},
		"running": {client.WaitRunning, []func(*session.Snapshot){ended(session.StateFailed), func(v *session.Snapshot) { v.Ready = false }, func(v *session.Snapshot) { v.Unknown = "away" }}, activity(runtime.ActivityUnknown)},
		"stopped": {client.WaitStopped, []func(*session.Snapshot){
			func(v *session.Snapshot) { ended(session.StateStopped)(v); v.Unknown = "away" },
			ended(session.StateStopping), ended(session.StateStarting), ended(session.StateUnknown), ended(""),
		}, ended(session.StateAsleep)},
		"another": {client.WaitStopped, nil, func(v *session.Snapshot) { v.Instance = "a-2" }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newServiceTest(t)
				w.agent("a")
				w.run()
				if c.condition == client.WaitBusy || c.condition == client.WaitRunning { // otherwise it is fulfilled at first
					w.Change("a", c.not[0])
				}
				done := w.startWait(t.Context(), client.WaitRequest{Target: "a", For: c.condition})
				base := w.Views["a"]
				base.Unknown, base.Pending = "", nil
				for i, not := range c.not {
					w.Change("a", func(v *session.Snapshot) { *v = base; not(v) })
					select {
					case got := <-done:
						t.Fatalf("step %d fulfilled it: %+v", i, got)
					default:
					}
				}
				base.Running, base.Ready, base.State, base.Instance = true, true, session.StateRunning, "a-1"
				w.Change("a", func(v *session.Snapshot) { *v = base; c.then(v) })
				select {
				case got := <-done:
					if got.err != nil || got.wait.State != client.WaitFulfilled || got.took != 0 {
						t.Errorf("got %+v, want it fulfilled at once", got)
					}
				default:
					t.Error("it is still waiting")
				}
			})
		})
	}
}

func TestFulfilledConditionReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.run()
		got := <-w.startWait(t.Context(), client.WaitRequest{Target: "s-a", For: client.WaitBusy})
		if got.err != nil || got.wait.State != client.WaitFulfilled || got.took != 0 {
			t.Errorf("got %+v, want it fulfilled at once", got)
		}
	})
}

func TestReceiptAndQuestionAreFollowedByEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.receipts["r1"] = client.Receipt{ID: "r1", State: client.ReceiptQueued}
		w.questions["q1"] = client.Pending{ID: "q1", State: client.PendingOpen}
		w.run()
		receipt := w.startWait(t.Context(), client.WaitRequest{For: client.WaitReceipt, Arg: "r1"})
		question := w.startWait(t.Context(), client.WaitRequest{For: client.WaitPending, Arg: "q1"})
		tell := func(kind, key, id string) {
			if _, err := w.Log.Append(t.Context(), client.Event{Kind: kind, Data: map[string]string{key: id}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		tell("prompt.injected", "receipt", "r1")
		tell("pending.escalated", "id", "q1")
		if len(receipt) != 0 || len(question) != 0 {
			t.Fatal("what is still open was fulfilled")
		}
		w.Mu.Lock()
		w.receipts["r1"] = client.Receipt{ID: "r1", State: client.ReceiptDead, Reason: "the agent is gone"}
		w.questions["q1"] = client.Pending{ID: "q1", State: client.PendingAnswered, Answer: "Yes", AnsweredBy: "anna"}
		w.Mu.Unlock()
		tell("prompt.dead", "receipt", "r1")
		tell("pending.answered", "id", "q1")
		if got := <-receipt; got.wait.State != client.WaitFulfilled || got.wait.Reason != "dead: the agent is gone" || got.took != 0 {
			t.Errorf("the receipt: %+v", got)
		}
		if got := <-question; got.wait.State != client.WaitFulfilled || got.wait.Reason != "answered by anna: Yes" || got.took != 0 {
			t.Errorf("the question: %+v", got)
		}
	})
}

// TestIdleWaitsForTheTurnOfASentPrompt checks that a caller who has sent a prompt and waits for idle waits
// for the turn, although the agent still looks idle, and not longer than the deadline for the start
// of a turn.
func TestIdleWaitsForTheTurnOfASentPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.Views["a"] = session.Snapshot{Session: "a", Agent: "a", Running: true, Ready: true, Activity: session.Activity{State: runtime.ActivityIdle}}
		w.begins = time.Now().Add(5 * time.Second)
		w.run()
		idle := w.startWait(t.Context(), client.WaitRequest{For: client.WaitIdle, Target: "a"})
		running := w.startWait(t.Context(), client.WaitRequest{For: client.WaitRunning, Target: "a"})
		synctest.Wait()
		if len(idle) != 0 || len(running) != 1 {
			t.Fatalf("before the turn: idle %d, running %d", len(idle), len(running))
		}
		w.Mu.Lock()
		w.begins = time.Time{}
		w.Mu.Unlock()
		if _, err := w.Log.Append(t.Context(), client.Event{Kind: "prompt.consumed", Session: "a"}); err != nil {
			t.Fatal(err)
		}
		if got := <-idle; got.wait.State != client.WaitFulfilled || got.took != 0 {
			t.Errorf("with the prompt consumed: %+v", got)
		}
		w.Mu.Lock()
		w.begins = time.Now().Add(3 * time.Second)
		w.Mu.Unlock()
		if got := <-w.startWait(t.Context(), client.WaitRequest{For: client.WaitIdle, Target: "a"}); got.wait.State != client.WaitFulfilled || got.took != 3*time.Second {
			t.Errorf("with a prompt that is not observed any more: %+v", got)
		}
	})
}

// TestWaitSurvivesLostEvents checks that a wait for a prompt ends although the event that the prompt has ended was dropped.
func TestWaitSurvivesLostEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.receipts["r1"] = client.Receipt{ID: "r1", State: client.ReceiptQueued}
		w.run()
		done := w.startWait(t.Context(), client.WaitRequest{For: client.WaitReceipt, Arg: "r1"})
		w.Mu.Lock()
		delete(w.receipts, "r1") // it ended and was removed
		w.Mu.Unlock()
		if _, err := w.Log.Append(t.Context(), client.Event{Kind: string(event.EventsDropped)}); err != nil {
			t.Fatal(err)
		}
		if got := <-done; got.wait.State != client.WaitFulfilled {
			t.Errorf("got %+v, want it fulfilled", got)
		}
	})
}

func TestTimes(t *testing.T) {
	for name, c := range map[string]struct {
		arg  func(now time.Time) string
		want time.Duration
	}{
		"duration": {func(time.Time) string { return "90m" }, 90 * time.Minute},
		"at once":  {func(time.Time) string { return "0s" }, 0},
		"time":     {func(now time.Time) string { return now.Add(time.Hour).Format(time.RFC3339) }, time.Hour},
		"zone": {func(now time.Time) string {
			return now.Add(time.Hour).In(time.FixedZone("x", 3600)).Format(time.RFC3339)
		}, time.Hour},
		"past": {func(now time.Time) string { return now.Add(-time.Hour).Format(time.RFC3339) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newServiceTest(t)
				w.run()
				got := <-w.startWait(t.Context(), client.WaitRequest{For: client.WaitTime, Arg: c.arg(time.Now())})
				if got.err != nil || got.took != c.want || got.wait.State != client.WaitFulfilled {
					t.Errorf("%+v after %v, want it fulfilled after %v", got.wait, got.took, c.want)
				}
			})
		})
	}
}

func TestCommandIsRunAtGrowingIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		start := time.Now()
		var at []int
		w.shell = func(context.Context) error {
			at = append(at, int(time.Since(start)/time.Second))
			if len(at) == 9 {
				return nil
			}
			return errors.New("exit status 1")
		}
		w.run()
		got := <-w.startWait(t.Context(), client.WaitRequest{For: client.WaitCommand, Arg: "test -e done"})
		if want := "[0 1 3 7 15 31 61 91 121]"; fmt.Sprint(at) != want || got.wait.State != client.WaitFulfilled {
			t.Errorf("it ran after %v seconds and ended %+v; want %s and fulfilled", at, got, want)
		}
	})
}

func TestHangingCommandIsKilledAndItsCallerCanCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		var running atomic.Int32
		w.shell = func(ctx context.Context) error {
			running.Add(1)
			defer running.Add(-1)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		w.run()
		got := <-w.startWait(t.Context(), client.WaitRequest{For: client.WaitCommand, Arg: "sleep 1000", Timeout: 2 * time.Minute})
		if !errors.Is(got.err, client.ErrTimeout) || got.took != 2*time.Minute || !strings.Contains(got.err.Error(), "did not end within 30 s") {
			t.Errorf("got %+v, want a time-out that says why", got)
		}
		if w.ran() != 4 { // at 0, 31, 63 and 97 s
			t.Errorf("it was run %d times in two minutes, want 4", w.ran())
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all []<-chan outcome
		for range 20 {
			all = append(all, w.startWait(ctx, client.WaitRequest{For: client.WaitCommand, Arg: "sleep 1000"}))
		}
		if running.Load() != maxCommands {
			t.Errorf("%d commands run at once, want %d", running.Load(), maxCommands)
		}
		cancel()
		for _, each := range all {
			if got := <-each; !errors.Is(got.err, context.Canceled) {
				t.Errorf("a canceled waiter got %v", got.err)
			}
		}
		synctest.Wait()
		if running.Load() != 0 || len(w.waits.entries) != 0 {
			t.Errorf("%d commands and %d waits are left behind", running.Load(), len(w.waits.entries))
		}
	})
}

func TestOtherResultsOfAnAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		w.agent("a")
		w.agent("b")
		w.agent("c")
		w.run()
		idle := client.WaitRequest{Target: "a", For: client.WaitIdle}

		for name, req := range map[string]client.WaitRequest{
			"no target": {For: client.WaitIdle}, "nonsense": {For: "sunshine", Arg: "x"}, "no argument": {For: client.WaitReceipt},
			"no time": {For: client.WaitTime, Arg: "soon"}, "past": {For: client.WaitTime, Arg: "-1h"}, "negative": {Target: "a", For: client.WaitIdle, Timeout: -1},
		} {
			if got := <-w.startWait(t.Context(), req); !errors.Is(got.err, client.ErrInvalid) {
				t.Errorf("%s: %v, want it invalid", name, got.err)
			}
		}
		for _, req := range []client.WaitRequest{{Target: "x", For: client.WaitIdle}, {For: client.WaitReceipt, Arg: "x"}, {For: client.WaitPending, Arg: "x"}} {
			if got := <-w.startWait(t.Context(), req); !errors.Is(got.err, client.ErrNotFound) {
				t.Errorf("%+v: %v, want not found", req, got.err)
			}
		}

		bounded := idle
		bounded.Timeout = time.Minute
		if got := <-w.startWait(t.Context(), bounded); !errors.Is(got.err, client.ErrTimeout) || got.took != time.Minute {
			t.Errorf("got %+v, want a time-out after a minute", got)
		}

		removed, stopped := w.startWait(t.Context(), idle), w.startWait(t.Context(), client.WaitRequest{Target: "a", For: client.WaitStopped})
		w.Remove("a")
		if len(removed) != 0 {
			t.Error("a target that is just not known failed the wait")
		}
		servicetest.Advance(absentGrace)
		if got := <-removed; got.err != nil || got.wait.State != client.WaitFailed || !strings.Contains(got.wait.Reason, "removed") {
			t.Errorf("after the removal: %+v, want it failed", got)
		}
		if got := <-stopped; got.wait.State != client.WaitFulfilled {
			t.Errorf("stopped after the removal: %+v, want it fulfilled", got)
		}

		gone := w.startWait(t.Context(), client.WaitRequest{Target: "b", For: client.WaitIdle})
		w.Change("b", func(v *session.Snapshot) { ended(session.StateStopped)(v); v.Desired = "absent" })
		if got := <-gone; got.wait.State != client.WaitFailed || !strings.Contains(got.wait.Reason, "not configured") {
			t.Errorf("after it was taken out of the configuration: %+v, want it failed", got)
		}

		last := w.startWait(t.Context(), client.WaitRequest{Target: "c", For: client.WaitIdle})
		w.Stop()
		if got := <-last; !errors.Is(got.err, client.ErrUnavailable) {
			t.Errorf("when the controller ended: %v, want unavailable", got.err)
		}
		if got := <-w.startWait(t.Context(), client.WaitRequest{Target: "c", For: client.WaitIdle}); !errors.Is(got.err, client.ErrUnavailable) {
			t.Errorf("after the controller ended: %v, want unavailable", got.err)
		}
	})
}
