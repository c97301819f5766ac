package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

func TestRequestsAreKeptAcrossControllers(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		for _, row := range []struct {
			name  string
			verb  func(context.Context, string, client.LifecycleRequest) (client.Done, error)
			state string
			live  int
		}{
			{"sleep", w.c.Sleep, client.StateAsleep, 0},
			{"wake", nil, client.StateRunning, 1},
			{"suspend", nil, client.StateSuspended, 0},
			{"resume", nil, client.StateRunning, 1},
		} {
			verb := map[string]func(context.Context, string, client.LifecycleRequest) (client.Done, error){
				"sleep": w.c.Sleep, "wake": w.c.Wake, "suspend": w.c.Suspend, "resume": w.c.Resume,
			}[row.name]
			mustDo(t, verb, client.LifecycleRequest{Reason: "for lunch"})
			w.advance(10 * time.Second)
			w.want("a", row.state)
			if done, err := verb(t.Context(), "a", client.LifecycleRequest{}); err != nil || done.Changed || done.Detail == "" {
				t.Errorf("%s for the second time says %+v, %v; want that nothing changed, and why", row.name, done, err)
			}
			w.stop()
			w.start()
			w.advance(time.Hour)
			w.want("a", row.state)
			if got := len(w.provider.lives()); got != row.live {
				t.Errorf("after %s and another controller %d run, want %d", row.name, got, row.live)
			}
		}
	})
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	inTestCity(t, []string{"a", "off"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[1].Suspended = true })
		w.start()
		ctx, none := t.Context(), client.LifecycleRequest{}
		for name, err := range map[string]error{
			"waking the suspended":       second(w.c.Wake(ctx, "off", none)),
			"resuming the configured":    second(w.c.Resume(ctx, "off", none)),
			"draining what does not run": second(w.c.Drain(ctx, "off", none)),
			"an ack without a drain":     second(w.c.DrainAck(ctx, "a", none)),
			"a stale instance":           second(w.c.Drain(ctx, "a", client.LifecycleRequest{Instance: "123456789abc"})),
			"renewing what does not run": second(w.c.RequestRestart(ctx, "off", none)),
			"a prompt for the suspended": w.c.WakeFor(ctx, "off", "a prompt waits"),
		} {
			if !errors.Is(err, client.ErrRefused) {
				t.Errorf("%s gives %v, want a refusal", name, err)
			}
		}
		if _, err := w.c.Suspend(ctx, "a", none); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		if _, err := w.c.Wake(ctx, "a", none); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "start it with: gc start a") {
			t.Errorf("waking the suspended gives %v, want a refusal with the remedy", err)
		}
		if _, err := w.c.Restart(ctx, client.RestartRequest{Targets: []string{"a"}}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("restarting the suspended gives %v", err)
		}
		if _, err := w.c.Sleep(ctx, "nobody", none); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("an unknown name gives %v", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestBudgetStopsAndAllowsASession: the session is stopped without a failure, stays stopped under another
// controller and for every request, and starts when the budget allows it.
func TestBudgetStopsAndAllowsASession(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		until := time.Now().Add(3 * time.Hour)
		if err := w.c.Withhold(t.Context(), "gc-town-a", "budget day is used up", until); err != nil {
			t.Fatal(err)
		}
		w.advance(10 * time.Second)
		w.want("a", client.StateSuspended)
		if a := w.agent("a"); a.Restarts != 0 || !a.NextAt.Equal(until) || !strings.Contains(a.Reason, "budget day is used up") {
			t.Errorf("it is shown as %+v, want no restart, the reason and until when", a)
		}
		w.stop()
		w.start()
		ctx, none := t.Context(), client.LifecycleRequest{}
		if err := w.c.WakeFor(ctx, "a", "a prompt waits for it"); err != nil {
			t.Errorf("a prompt for it gives %v, want that it waits", err)
		}
		for name, err := range map[string]error{
			"wake": second(w.c.Wake(ctx, "a", none)), "resume": second(w.c.Resume(ctx, "a", none)),
			"restart": second(w.c.Restart(ctx, client.RestartRequest{Targets: []string{"a"}})),
		} {
			if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "budget day") {
				t.Errorf("%s gives %v, want a refusal with the reason", name, err)
			}
		}
		w.advance(24 * time.Hour)
		w.want("a", client.StateSuspended)
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) > 0 || r.Streak > 0 || r.Hold.Kind != session.HoldBudget {
			t.Errorf("the store holds %+v, want the hold and no failure", r)
		}
		if err := w.c.Allow(ctx, "a", "the window has passed"); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("a", client.StateRunning)
		if err := w.c.Allow(ctx, "a", "again"); err != nil {
			t.Errorf("to allow it for the second time gives %v", err)
		}
		mustDo(t, w.c.Suspend, none)
		if err := w.c.Withhold(ctx, "a", "budget day is used up", until); err != nil {
			t.Fatal(err)
		}
		if err := w.c.Allow(ctx, "a", "the window has passed"); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Hour)
		w.want("a", client.StateSuspended) // a person suspended it
	})
}

func TestPromptWakesASleepingAgent(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		mustDo(t, w.c.Sleep, client.LifecycleRequest{})
		w.advance(time.Second)
		if err := w.c.WakeFor(t.Context(), "a", "a prompt waits for it"); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("a", client.StateRunning)
		if r := w.records.record(t, "gc-town-a"); r.Hold.Kind != "" {
			t.Errorf("the hold is still kept: %+v", r.Hold)
		}
		if err := w.c.WakeFor(t.Context(), "a", "another"); err != nil {
			t.Errorf("waking for a prompt what runs: %v", err)
		}
	})
}

func TestIdleAgentsSleepAndWake(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		queued := 0
		w.change = func(o *Options) { o.Queued = func(string) (int, time.Time) { return queued, time.Time{} } }
		w.edit(func(d *plan.Desired) { d.Sessions[0].IdleAfter = 10 * time.Minute })
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Hour)
		w.want("a", client.StateRunning)
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(9 * time.Minute)
		w.want("a", client.StateRunning)
		w.advance(2 * time.Minute)
		w.want("a", client.StateAsleep)
		w.stop()
		w.start()
		w.advance(time.Hour)
		w.want("a", client.StateAsleep)
		queued = 1
		if err := w.c.WakeFor(t.Context(), "a", "a prompt waits for it"); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.want("a", client.StateRunning)
	})
}

func TestDrainEndsWithTheAckOrTheDeadline(t *testing.T) {
	for _, acked := range []bool{true, false} {
		t.Run(fmt.Sprint("acknowledged: ", acked), func(t *testing.T) {
			inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
				w.start()
				instance := w.agent("a").Instance
				mustDo(t, w.c.Drain, client.LifecycleRequest{Reason: "upgrade", Instance: instance})
				w.advance(time.Second)
				w.want("a", client.StateDraining)
				until := w.provider.note("gc-town-a", ops.MetaDrain)
				if want := fmt.Sprint(time.Now().Add(defaultDrainTimeout - time.Second).Unix()); until != want {
					t.Errorf("the agent received %q, want %q", until, want)
				}
				if d, err := w.c.DrainState(t.Context(), "a"); err != nil || !d.Draining || d.Reason != "upgrade" {
					t.Errorf("the drain is %+v, %v", d, err)
				}
				w.stop() // the drain continues under the next controller
				w.start()
				w.advance(time.Minute)
				w.want("a", client.StateDraining)
				if acked {
					mustDo(t, w.c.DrainAck, client.LifecycleRequest{Instance: instance})
				} else {
					w.advance(4 * time.Minute)
				}
				w.advance(time.Second)
				w.want("a", client.StateAsleep)
				if r := w.records.record(t, "gc-town-a"); len(r.Failures) > 0 || r.Drain != (session.Drain{}) {
					t.Errorf("the store holds %+v, want no failure and no drain", r)
				}
				mustDo(t, w.c.Wake, client.LifecycleRequest{})
				w.advance(time.Second)
				w.want("a", client.StateRunning)
				if d, _ := w.c.DrainState(t.Context(), "a"); d.Draining {
					t.Error("the successor is to finish its work")
				}
				if _, err := w.c.DrainAck(t.Context(), "a", client.LifecycleRequest{Instance: instance}); !errors.Is(err, client.ErrRefused) {
					t.Errorf("an ack of the previous instance gives %v", err)
				}
			})
		})
	}
}

func TestDrainCanBeCancelled(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		mustDo(t, w.c.Drain, client.LifecycleRequest{Timeout: time.Minute})
		w.advance(time.Second)
		mustDo(t, w.c.Wake, client.LifecycleRequest{})
		w.advance(time.Hour)
		w.want("a", client.StateRunning)
		if w.provider.lives()["gc-town-a"] != before["gc-town-a"] || w.provider.note("gc-town-a", ops.MetaDrain) != "" {
			t.Error("the drain was cancelled, and the agent was stopped or still had the request")
		}
	})
}

func TestExitDuringADrainIsNoFailure(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		mustDo(t, w.c.Drain, client.LifecycleRequest{})
		w.advance(time.Second)
		w.provider.end("gc-town-a", 0)
		w.advance(time.Minute)
		w.want("a", client.StateAsleep)
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) > 0 {
			t.Errorf("failures: %v", r.Failures)
		}
	})
}

func TestAgentRequestsItsOwnRestart(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.advance(time.Second)
		before := w.provider.lives()
		mustDo(t, w.c.RequestRestart, client.LifecycleRequest{Instance: w.agent("a").Instance})
		w.advance(10 * time.Minute)
		if w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("it was restarted within its turn")
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(2 * time.Minute)
		if w.provider.lives()["gc-town-a"] == before["gc-town-a"] {
			t.Error("it was not restarted after its turn")
		}
		w.advance(time.Hour)
		if got := w.provider.number("start"); got != 2 {
			t.Errorf("%d starts, want two", got)
		}
		if a := w.agent("a"); a.Restarts != 0 {
			t.Errorf("%d restarts without a request", a.Restarts)
		}
	})
}

// TestConcurrentRequestsLeaveAConsistentState sends all requests at once, many times.
func TestConcurrentRequestsLeaveAConsistentState(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		none := client.LifecycleRequest{}
		for range 20 {
			var wg sync.WaitGroup
			for _, verb := range []func(context.Context, string, client.LifecycleRequest) (client.Done, error){
				w.c.Sleep, w.c.Wake, w.c.Suspend, w.c.Resume, w.c.Drain, w.c.DrainAck, w.c.RequestRestart, w.c.Reset,
			} {
				wg.Go(func() { _, _ = verb(t.Context(), "a", none) }) // some are refused
			}
			wg.Go(func() { _, _ = w.c.Kill(t.Context(), "a", client.LifecycleRequest{}) })
			wg.Go(func() { _, _ = w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}}) })
			wg.Wait()
			synctest.Wait()
		}
		if _, err := w.c.Resume(t.Context(), "a", none); err != nil {
			t.Fatal(err)
		}
		if _, err := w.c.Wake(t.Context(), "a", none); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Minute)
		w.want("a", client.StateRunning)
		if len(w.provider.lives()) != 1 {
			t.Errorf("%d agents run", len(w.provider.lives()))
		}
	})
}

func TestRequestForAPreviousInstanceIsRefused(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.advance(time.Minute)
		present := w.agent("a").Instance
		for _, former := range []bool{true, false} {
			instance, want := present, error(nil)
			if former {
				instance, want = "former", client.ErrRefused
			}
			ctx := t.Context()
			_, interrupt := w.c.Interrupt(ctx, "a", client.LifecycleRequest{Instance: instance})
			_, keys := w.c.Keys(ctx, "a", client.KeysRequest{Keys: []string{"Enter"}, Instance: instance})
			_, copied := w.c.Copy(ctx, "a", client.CopyRequest{Src: "/x", Instance: instance})
			for verb, err := range map[string]error{"interrupt": interrupt, "keys": keys, "copy": copied} {
				if !errors.Is(err, want) {
					t.Errorf("%s of %q answers %v, want %v", verb, instance, err, want)
				}
			}
		}
		if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}, Instance: "former"}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("a restart of a previous instance answers %v", err)
		}
		if _, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{Instance: "former"}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("a kill of a previous instance answers %v", err)
		}
		if w.advance(time.Minute); w.agent("a").Instance != present {
			t.Errorf("the refused verbs ended %s: %s runs", present, w.agent("a").Instance)
		}
		if _, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{Instance: present}); err != nil {
			t.Errorf("a kill of the present instance answers %v", err)
		}
		if w.advance(time.Minute); w.agent("a").Instance == present {
			t.Error("the kill ended nothing")
		}
	})
}
