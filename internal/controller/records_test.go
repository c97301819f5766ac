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
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/store/storetest"
	"gascity/runtime"
)

// breakable puts a store that can be broken under the town.
func (w *fakeCity) breakable() *storetest.Faulty {
	f := storetest.NewFaulty(storetest.Stores{Records: w.records, History: w.records})
	w.store = f
	return f
}

// TestABrokenStoreFreezesTheCity is R3's proof: five minutes without a store that
// can be relied on, under load, and nothing is started or stopped.
func TestABrokenStoreFreezesTheCity(t *testing.T) {
	for mode, name := range map[storetest.Mode]string{
		storetest.Fails: "fails", storetest.Hangs: "hangs", storetest.FailsWrites: "is full", storetest.LosesAnswers: "loses answers",
	} {
		t.Run(name, func(t *testing.T) {
			inFakeCity(t, names(20), func(t *testing.T, w *fakeCity) {
				store := w.breakable()
				w.begin()
				before := w.fake.lives()
				store.Set(mode)
				calls := w.fake.snapshotCalls()
				w.fake.end("gc-town-a003", 1)
				w.edit(func(d *plan.Desired) {
					d.Sessions = slices.Clone(d.Sessions[:18])
					d.Sessions[5].Config.WorkDir = "/elsewhere"
				})
				if err := w.reload(); err != nil {
					t.Fatal(err)
				}
				for range 60 {
					w.after(5 * time.Second)
					w.fake.works("gc-town-a007")
				}
				for _, verb := range []string{"start", "stop", "relaunch", "interrupt"} {
					if got := w.fake.number(verb); got != calls[verb] {
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
				if got := w.fake.number("stop"); got != calls["stop"] {
					t.Errorf("a kill that was refused made %d calls of stop", got-calls["stop"])
				}
				if r, err := w.c.Kill(t.Context(), "a009", client.LifecycleRequest{Force: true}); err != nil || r.Session != "gc-town-a009" {
					t.Errorf("a forced kill gives %+v, %v", r, err)
				}
				w.after(time.Minute)
				if now := w.fake.lives(); now["gc-town-a009"] != "" || len(now) != 18 || w.fake.number("start") != calls["start"] {
					t.Errorf("after the forced kill %d run: %v; want all but the killed and the crashed", len(now), now)
				}

				store.Set(storetest.Works)
				w.after(2 * time.Minute)
				after := w.fake.lives()
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

// TestAControllerWithoutItsRecordsDoesNothing: who was put to sleep would be
// started otherwise.
func TestAControllerWithoutItsRecordsDoesNothing(t *testing.T) {
	for mode, name := range map[storetest.Mode]string{storetest.Fails: "fails", storetest.Hangs: "hangs"} {
		t.Run(name, func(t *testing.T) {
			inFakeCity(t, []string{"a", "sleeper"}, func(t *testing.T, w *fakeCity) {
				store := w.breakable()
				w.begin()
				if _, err := w.c.Sleep(t.Context(), "sleeper", client.LifecycleRequest{}); err != nil {
					t.Fatal(err)
				}
				w.after(time.Second)
				w.end()
				store.Set(mode)
				starts, before := w.fake.number("start"), w.fake.lives()
				w.fake.vanish("gc-town-a")
				w.beginLater()
				w.after(5 * time.Minute)
				if got := w.fake.number("start"); got != starts || w.fake.number("stop") != 1 {
					t.Errorf("%d starts and %d stops without records, want none", got-starts, w.fake.number("stop")-1)
				}
				store.Set(storetest.Works)
				w.after(time.Minute)
				w.want("sleeper", client.StateAsleep)
				w.want("a", client.StateRunning)
				if w.fake.lives()["gc-town-a"] == before["gc-town-a"] {
					t.Error("the vanished session was not started again")
				}
			})
		})
	}
}

// beginLater begins a controller whose start takes time.
func (w *fakeCity) beginLater() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	c, err := Open(ctx, w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	w.c, w.cancel, w.done, w.stopped = c, cancel, make(chan error, 1), false
	go func() { w.done <- c.Run(ctx) }()
}

func TestTheInstanceIsStoredBeforeItsStart(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		var kept []session.Record
		w.fake.onStart = func(context.Context, string) error {
			kept = append(kept, w.records.record(t, "gc-town-a"))
			return nil
		}
		w.begin()
		w.fake.end("gc-town-a", 1)
		w.after(time.Minute)
		if len(kept) != 2 || kept[0].Epoch != 1 || kept[1].Epoch != 2 || kept[0].Instance != session.PublicInstance("token-1") || !kept[1].Running {
			t.Errorf("when the starts began the store held %+v, want each instance in it", kept)
		}
		if kept[0].Token != "" || strings.Contains(fmt.Sprint(w.records.record(t, "gc-town-a")), "token-") {
			t.Error("the store holds a token")
		}
	})
}

// TestTheStartBudgetOutlivesTheController is R6's proof.
func TestTheStartBudgetOutlivesTheController(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.settings = Settings{MaxRestarts: 5, RestartWindow: time.Hour}
		w.fake.onStart = func(context.Context, string) error {
			return &runtime.StartupDeath{Exit: runtime.Exit{Code: 1}, Output: "no such model: x"}
		}
		for range 6 {
			w.begin()
			w.after(9 * time.Minute)
			w.end()
		}
		w.begin()
		if got := w.fake.number("start"); got > 5 {
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
		w.fake.set(func(f *fake) { f.onStart = nil })
		done, err := w.c.Reset(t.Context(), "a", client.LifecycleRequest{})
		if err != nil || !done.Changed || !strings.Contains(done.Detail, "5 failures") {
			t.Errorf("the reset says %+v, %v", done, err)
		}
		w.after(time.Second)
		w.want("a", client.StateRunning)
	})
}

func TestAnEndThatNobodySawCounts(t *testing.T) {
	inFakeCity(t, []string{"crashed", "stopped", "lives"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		if _, err := w.c.Sleep(t.Context(), "stopped", client.LifecycleRequest{}); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		w.end()
		w.fake.vanish("gc-town-crashed")
		w.begin()
		if a := w.agent("crashed"); a.State != client.StateLost && a.State != client.StateFailed || len(w.records.record(t, "gc-town-crashed").Failures) != 1 {
			t.Errorf("got %s (%s), want that its end is counted", a.State, a.Reason)
		}
		if got := w.records.record(t, "gc-town-stopped"); len(got.Failures) != 0 {
			t.Errorf("an end that was ordered counts as a failure: %+v", got)
		}
		w.after(time.Minute)
		w.want("crashed", client.StateRunning)
		w.want("stopped", client.StateAsleep)
	})
}

func TestAdoptionKeepsTheCounters(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		for range 3 {
			w.fake.end("gc-town-a", 1)
			w.after(time.Minute)
		}
		before, lives := w.agent("a"), w.fake.lives()
		w.end()
		w.begin()
		after := w.agent("a")
		if after.Restarts != 3 || after.Epoch != before.Epoch || after.Instance != before.Instance || !after.StartedAt.Equal(before.StartedAt) {
			t.Errorf("before %+v, after %+v; want the same instance with its counters", before, after)
		}
		if diff := cmp.Diff(lives, w.fake.lives()); diff != "" {
			t.Errorf("other instances run:\n%s", diff)
		}
		w.end()
		w.fake.set(func(f *fake) { f.sessions["gc-town-a"].token = "of-somebody-else" })
		w.begin()
		if got := w.agent("a"); got.Epoch != before.Epoch+1 || got.Instance != session.PublicInstance("of-somebody-else") {
			t.Errorf("a successor is shown as %+v, want another instance than %+v", got, before)
		}
	})
}

func TestIllegalStatesAreRepaired(t *testing.T) {
	inFakeCity(t, names(20), func(t *testing.T, w *fakeCity) {
		words := []string{"", "zombie", "creating", "STARTING", "unknown", "stopping", "draining", "asleep", "lost", "\x00"}
		for i, name := range names(20) {
			r := session.Record{Session: "gc-town-" + name, Provider: "fake", Agent: name, State: session.State(words[i%len(words)])}
			if err := w.records.Memory.Save(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		w.begin()
		w.after(time.Second)
		for _, name := range names(20) {
			w.want(name, client.StateRunning)
			if r := w.records.record(t, "gc-town-"+name); r.State != session.StateRunning {
				t.Errorf("the store says that %s is %q", name, r.State)
			}
		}
		if census, err := w.c.StopCity(t.Context()); err != nil || !census.Clean {
			t.Errorf("the stop gives %+v, %v", census, err)
		}
		w.joined()
	})
}

func TestTheLoopWaitsForNoStore(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		store := w.breakable()
		w.begin()
		store.Set(storetest.Hangs)
		w.fake.end("gc-town-a", 3)
		synctest.Wait()
		if a := w.agent("a"); !strings.Contains(a.Reason, "code 3") {
			t.Errorf("while the store hangs the crash is shown as %+v", a)
		}
		w.after(time.Minute)
		store.Set(storetest.Works)
		w.after(10 * time.Second)
		w.want("a", client.StateRunning)
		if a := w.agent("a"); a.Restarts != 1 {
			t.Errorf("%d restarts, want one", a.Restarts)
		}
	})
}

func TestEveryLifeIsInTheHistory(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.fake.end("gc-town-a", 7)
		w.after(time.Minute)
		mustDo(t, w.c.Sleep, client.LifecycleRequest{Reason: "night"})
		w.after(time.Minute)
		lives, err := w.records.Instances(t.Context(), session.Key{Provider: "fake", Session: "gc-town-a"}, 0)
		if err != nil || len(lives) != 2 || lives[1].Exit == nil || lives[1].Exit.Code != 7 || lives[1].EndedAt.IsZero() || !strings.Contains(lives[0].Reason, "night") {
			t.Errorf("the history holds %+v, %v; want the crash and the sleep", lives, err)
		}
	})
}
