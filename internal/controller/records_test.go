package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/storetest"
)

// useFaultyStore gives the next controller a store with faults.
func (w *testCity) useFaultyStore() *storetest.Faulty {
	f := storetest.NewFaulty(storetest.Stores{Records: w.records})
	w.store = f
	return f
}

// TestNothingChangesWhileTheStoreFails has five minutes of load with each fault of the
// store. Nothing is started or stopped.
func TestNothingChangesWhileTheStoreFails(t *testing.T) {
	for mode, name := range map[storetest.Mode]string{
		storetest.Fails: "fails", storetest.Hangs: "hangs", storetest.FailsWrites: "is full", storetest.LosesAnswers: "loses answers",
	} {
		t.Run(name, func(t *testing.T) {
			inTestCity(t, names(20), func(t *testing.T, w *testCity) {
				store := w.useFaultyStore()
				w.start()
				before := w.provider.lives()
				store.Set(mode)
				calls := w.provider.snapshotCalls()
				w.provider.end("gc-town-a003", 1)
				w.edit(func(d *plan.Desired) {
					d.Sessions = slices.Clone(d.Sessions[:18])
					d.Sessions[5].Config.WorkDir = "/elsewhere"
				})
				if err := w.reload(); err != nil {
					t.Fatal(err)
				}
				for range 60 {
					w.advance(5 * time.Second)
					w.provider.works("gc-town-a007")
				}
				for _, verb := range []string{"start", "stop", "relaunch", "interrupt"} {
					if got := w.provider.number(verb); got != calls[verb] {
						t.Errorf("%d calls of %s while nothing could be stored", got-calls[verb], verb)
					}
				}
				status, _ := w.c.Status(t.Context())
				if !strings.Contains(status.Controller.Degraded, "store") {
					t.Errorf("degraded is %q, want the store in it", status.Controller.Degraded)
				}
				if a := w.agent("a003"); a.State == client.StateRunning || !strings.Contains(a.Reason, "frozen") {
					t.Errorf("the crashed agent is shown as %s (%s), want what it waits for", a.State, a.Reason)
				}
				if _, err := w.c.Suspend(t.Context(), "a001", client.LifecycleRequest{}); !errors.Is(err, client.ErrUnavailable) {
					t.Errorf("an order that cannot be kept gives %v, want that it is unavailable", err)
				}
				if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a001"}}); !errors.Is(err, client.ErrUnavailable) {
					t.Errorf("a restart gives %v, want that it is unavailable", err)
				}
				if _, err := w.c.Kill(t.Context(), "a009", client.LifecycleRequest{}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "--force") {
					t.Errorf("a kill gives %v, want that it is unavailable and the remedy", err)
				}
				if got := w.provider.number("stop"); got != calls["stop"] {
					t.Errorf("a kill that was refused made %d calls of stop", got-calls["stop"])
				}
				if r, err := w.c.Kill(t.Context(), "a009", client.LifecycleRequest{Force: true}); err != nil || r.Session != "gc-town-a009" {
					t.Errorf("a forced kill gives %+v, %v", r, err)
				}
				w.advance(time.Minute)
				if now := w.provider.lives(); now["gc-town-a009"] != "" || len(now) != 18 || w.provider.number("start") != calls["start"] {
					t.Errorf("after the forced kill %d run: %v; want all but the killed and the crashed", len(now), now)
				}

				store.Set(storetest.Works)
				w.advance(2 * time.Minute)
				after := w.provider.lives()
				if after["gc-town-a009"] == "" || after["gc-town-a009"] == before["gc-town-a009"] {
					t.Errorf("the killed one was %s and is %s, want it new", before["gc-town-a009"], after["gc-town-a009"])
				}
				if status, _ := w.c.Status(t.Context()); status.Controller.Degraded != "" {
					t.Errorf("after the recovery degraded is %q", status.Controller.Degraded)
				}
				if len(after) != 18 || after["gc-town-a003"] == "" || after["gc-town-a019"] != "" || after["gc-town-a005"] == before["gc-town-a005"] {
					t.Errorf("after the recovery %d run: %v; want the crashed back, the removed gone, the changed new", len(after), after)
				}
				for _, name := range []string{"gc-town-a000", "gc-town-a001", "gc-town-a007"} {
					if after[name] != before[name] {
						t.Errorf("%s was %s and is %s, want it untouched", name, before[name], after[name])
					}
				}
			})
		})
	}
}

// TestControllerWithoutItsRecordsDoesNothing: otherwise it would start an agent that
// a person put to sleep.
func TestControllerWithoutItsRecordsDoesNothing(t *testing.T) {
	for mode, name := range map[storetest.Mode]string{storetest.Fails: "fails", storetest.Hangs: "hangs"} {
		t.Run(name, func(t *testing.T) {
			inTestCity(t, []string{"a", "sleeper"}, func(t *testing.T, w *testCity) {
				store := w.useFaultyStore()
				w.start()
				if _, err := w.c.Sleep(t.Context(), "sleeper", client.LifecycleRequest{}); err != nil {
					t.Fatal(err)
				}
				w.advance(time.Second)
				w.stop()
				store.Set(mode)
				starts, before := w.provider.number("start"), w.provider.lives()
				w.provider.vanish("gc-town-a")
				w.startLater()
				w.advance(5 * time.Minute)
				if got := w.provider.number("start"); got != starts || w.provider.number("stop") != 1 {
					t.Errorf("%d starts and %d stops without records, want none", got-starts, w.provider.number("stop")-1)
				}
				store.Set(storetest.Works)
				w.advance(time.Minute)
				w.want("sleeper", client.StateAsleep)
				w.want("a", client.StateRunning)
				if w.provider.lives()["gc-town-a"] == before["gc-town-a"] {
					t.Error("the vanished session was not started again")
				}
			})
		})
	}
}

// startLater starts a controller and does not wait until it is open.
func (w *testCity) startLater() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	c, err := Open(ctx, w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	w.c, w.cancel, w.done, w.stopped = c, cancel, make(chan error, 1), false
	go func() { w.done <- c.Run(ctx) }()
}

func TestInstanceIsSavedBeforeItsStart(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		var kept []session.Record
		w.provider.onStart = func(context.Context, string) error {
			kept = append(kept, w.records.record(t, "gc-town-a"))
			return nil
		}
		w.start()
		w.provider.end("gc-town-a", 1)
		w.advance(time.Minute)
		if len(kept) != 2 || kept[0].Epoch != 1 || kept[1].Epoch != 2 || kept[0].Instance != session.PublicInstance("token-1") || !kept[1].Running {
			t.Errorf("when the starts began the store held %+v, want each instance in it", kept)
		}
		if kept[0].Token != "" || strings.Contains(fmt.Sprint(w.records.record(t, "gc-town-a")), "token-") {
			t.Error("the store holds a token")
		}
	})
}

// TestRestartCountIsKeptAcrossControllers restarts the controller during a crash loop.
func TestRestartCountIsKeptAcrossControllers(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.settings = config.Daemon{MaxRestarts: 5, RestartWindow: time.Hour}
		w.provider.onStart = func(context.Context, string) error {
			return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: "no such model: x"}
		}
		for range 6 {
			w.start()
			w.advance(9 * time.Minute)
			w.stop()
		}
		w.start()
		if got := w.provider.number("start"); got > 5 {
			t.Errorf("%d starts in an hour with 6 controllers, budget 5", got)
		}
		if a := w.agent("a"); a.State != client.StateQuarantined || !strings.Contains(a.Reason, "no such model") {
			t.Errorf("got %s (%s), want the quarantine with the agent's own words", a.State, a.Reason)
		}
		if r := w.records.record(t, "gc-town-a"); r.State != session.StateQuarantined || len(r.Failures) != 5 {
			t.Errorf("the store holds %+v, want the quarantine", r)
		}
		if _, err := w.c.Wake(t.Context(), "a", client.LifecycleRequest{}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("waking it gives %v, want a refusal", err)
		}
		w.provider.set(func(f *testProvider) { f.onStart = nil })
		done, err := w.c.Reset(t.Context(), "a", client.LifecycleRequest{})
		if err != nil || !done.Changed || !strings.Contains(done.Detail, "5 failures") {
			t.Errorf("the reset says %+v, %v", done, err)
		}
		w.advance(time.Second)
		w.want("a", client.StateRunning)
	})
}

func TestUnobservedExitCounts(t *testing.T) {
	inTestCity(t, []string{"crashed", "stopped", "lives"}, func(t *testing.T, w *testCity) {
		w.start()
		if _, err := w.c.Sleep(t.Context(), "stopped", client.LifecycleRequest{}); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		w.stop()
		w.provider.vanish("gc-town-crashed")
		w.start()
		if a := w.agent("crashed"); a.State != client.StateLost && a.State != client.StateFailed || len(w.records.record(t, "gc-town-crashed").Failures) != 1 {
			t.Errorf("got %s (%s), want that its end is counted", a.State, a.Reason)
		}
		if got := w.records.record(t, "gc-town-stopped"); len(got.Failures) != 0 {
			t.Errorf("an end that was ordered counts as a failure: %+v", got)
		}
		w.advance(time.Minute)
		w.want("crashed", client.StateRunning)
		w.want("stopped", client.StateAsleep)
	})
}

func TestAdoptionKeepsTheCounters(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		for range 3 {
			w.provider.end("gc-town-a", 1)
			w.advance(time.Minute)
		}
		before, lives := w.agent("a"), w.provider.lives()
		w.stop()
		w.start()
		after := w.agent("a")
		if after.Restarts != 3 || after.Epoch != before.Epoch || after.Instance != before.Instance || !after.StartedAt.Equal(before.StartedAt) {
			t.Errorf("before %+v, after %+v; want the same instance with its counters", before, after)
		}
		if diff := cmp.Diff(lives, w.provider.lives()); diff != "" {
			t.Errorf("other instances run:\n%s", diff)
		}
		w.stop()
		w.provider.set(func(f *testProvider) { f.sessions["gc-town-a"].token = "of-somebody-else" })
		w.start()
		if got := w.agent("a"); got.Epoch != before.Epoch+1 || got.Instance != session.PublicInstance("of-somebody-else") {
			t.Errorf("a successor is shown as %+v, want another instance than %+v", got, before)
		}
	})
}

func TestIllegalStatesAreRepaired(t *testing.T) {
	inTestCity(t, names(20), func(t *testing.T, w *testCity) {
		words := []string{"", "zombie", "creating", "STARTING", "unknown", "stopping", "draining", "asleep", "lost", "\x00"}
		for i, name := range names(20) {
			r := session.Record{Session: "gc-town-" + name, Provider: "fake", Agent: name, State: session.State(words[i%len(words)])}
			if err := w.records.Sessions.Save(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		w.start()
		w.advance(time.Second)
		for _, name := range names(20) {
			w.want(name, client.StateRunning)
			if r := w.records.record(t, "gc-town-"+name); r.State != session.StateRunning {
				t.Errorf("the store says that %s is %q", name, r.State)
			}
		}
		if census, err := w.c.StopCity(t.Context()); err != nil || !census.Clean {
			t.Errorf("the stop gives %+v, %v", census, err)
		}
		w.waitForExit()
	})
}

func TestLoopDoesNotWaitForTheStore(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		store := w.useFaultyStore()
		w.start()
		store.Set(storetest.Hangs)
		w.provider.end("gc-town-a", 3)
		synctest.Wait()
		if a := w.agent("a"); !strings.Contains(a.Reason, "code 3") {
			t.Errorf("while the store hangs the crash is shown as %+v", a)
		}
		w.advance(time.Minute)
		store.Set(storetest.Works)
		w.advance(10 * time.Second)
		w.want("a", client.StateRunning)
		if a := w.agent("a"); a.Restarts != 1 {
			t.Errorf("%d restarts, want one", a.Restarts)
		}
	})
}
