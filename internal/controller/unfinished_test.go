package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// killed ends the controller as kill -9 does: the next one finds what the store had
// at that moment, and the places as they were.
func (w *fakeCity) killed() {
	w.t.Helper()
	kept, notes := &countingStore{}, map[string]map[string]string{}
	records, err := w.records.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range records {
		if err := kept.Save(w.t.Context(), r); err != nil {
			w.t.Fatal(err)
		}
	}
	w.fake.set(func(f *fake) {
		for name, s := range f.sessions {
			notes[name] = s.meta
			s.meta = map[string]string{} // what comes from now on comes too late
		}
	})
	w.end()
	w.records = kept
	w.fake.set(func(f *fake) {
		for name, s := range f.sessions {
			if s.meta = notes[name]; s.meta == nil {
				s.meta = map[string]string{}
			}
		}
	})
}

// halfway makes starts create the session and then hang, as an agent does that does
// not come up, for as long as their controller lives.
func (w *fakeCity) halfway() {
	w.fake.set(func(f *fake) { f.halfway = true })
}

// cutOff begins one start, kills its controller, and begins another one.
func (w *fakeCity) cutOff() {
	w.halfway()
	w.begin()
	w.after(2 * time.Second)
	w.fake.set(func(f *fake) { f.halfway = false })
	w.killed()
	w.begin()
}

// TestAStartThatWasCutOff kills the controller while an agent comes up.
func TestAStartThatWasCutOff(t *testing.T) {
	nudge := func(s *plan.Session) { s.Config.Nudge = "go" }
	ready := func(s *plan.Session) { s.Config.ReadyPromptPrefix = "❯" }
	live := func(s *plan.Session) { ready(s); s.Config.SessionLive = []string{"tint"} }
	for _, row := range []struct {
		name    string
		change  func(*plan.Session)
		says    runtime.Activity
		adopted bool
		live    int
		warns   bool
	}{
		{name: "never prompted", change: nudge, says: runtime.ActivityIdle},
		{name: "it hangs", change: nudge},
		{name: "set up by halves", change: func(s *plan.Session) { s.Config.SessionSetup = []string{"make"} }, says: runtime.ActivityReady},
		{name: "at work", change: nudge, says: runtime.ActivityBusy, adopted: true, warns: true},
		{name: "ready meanwhile", change: ready, says: runtime.ActivityIdle, adopted: true},
		{name: "live commands", change: live, says: runtime.ActivityReady, adopted: true, live: 1},
		{name: "nothing to complete", change: func(*plan.Session) {}, adopted: true},
		{name: "runs once", change: func(s *plan.Session) { nudge(s); s.Config.Lifecycle = runtime.LifecycleOneShot }, adopted: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
				w.edit(func(d *plan.Desired) { row.change(&d.Sessions[0]) })
				w.fake.setActivity("gc-town-a", row.says)
				w.cutOff()
				w.after(5 * time.Second)
				a, lives, r := w.agent("a"), w.fake.lives(), w.records.record(t, "gc-town-a")
				if a.State != client.StateRunning || r.Start != session.StartDone {
					t.Errorf("it is %s (%s), its start %q", a.State, a.Reason, r.Start)
				}
				if got := lives["gc-town-a"] == "token-1"; got != row.adopted {
					t.Errorf("taken over: %v, want %v; calls %v", got, row.adopted, w.fake)
				}
				failed := strings.Count(strings.Join(w.kinds("gc-town-a"), " "), "session.start_failed")
				if want := map[bool]int{true: 0, false: 1}[row.adopted]; failed != want || len(r.Failures) != want || w.fake.number("stop") != want {
					t.Errorf("%d failures reported, %d counted, %d stops, want %d of each", failed, len(r.Failures), w.fake.number("stop"), want)
				}
				if got := w.fake.number("live"); got != row.live {
					t.Errorf("live commands ran %d times, want %d", got, row.live)
				}
				if (a.Warning != "") != row.warns && row.adopted {
					t.Errorf("the warning is %q", a.Warning)
				}
				w.after(time.Hour)
				if got := w.fake.lives(); got["gc-town-a"] != lives["gc-town-a"] {
					t.Error("it did not last")
				}
			})
		})
	}
}

// TestACutStartGetsItsTime has an agent that may still become ready, and does not.
func TestACutStartGetsItsTime(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.ReadyPromptPrefix = "❯" })
		w.fake.setActivity("gc-town-a", "")
		w.cutOff()
		w.after(10 * time.Second)
		if a := w.agent("a"); a.State != client.StateStarting || !strings.Contains(a.Reason, "may still become ready") || w.fake.number("stop") != 0 {
			t.Errorf("after 12 s of 20 it is %s: %s", a.State, a.Reason)
		}
		w.after(15 * time.Second)
		if got := w.fake.lives()["gc-town-a"]; got != "token-2" {
			t.Errorf("after its time %q runs, want its successor", got)
		}
	})
}

// TestAPersonIsNotInterruptedByACutStart has somebody attached to it.
func TestAPersonIsNotInterruptedByACutStart(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.fake.attached = 1
		w.cutOff()
		w.after(time.Hour)
		if a := w.agent("a"); w.fake.number("stop") != 0 || !strings.Contains(a.Reason, "when no terminal is attached") {
			t.Errorf("it is %s: %s; %v", a.State, a.Reason, w.fake)
		}
		w.fake.set(func(f *fake) {
			f.attached, f.sessions["gc-town-a"].attached = 0, 0
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a"})
		})
		w.after(10 * time.Second)
		if got := w.fake.lives()["gc-town-a"]; got != "token-2" {
			t.Errorf("%q runs after the person has left", got)
		}
	})
}

// TestACompleteStartIsNotCutOff kills the controller when the start is complete and
// the store does not have that yet.
func TestACompleteStartIsNotCutOff(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.begin()
		w.after(time.Second)
		w.killed()
		r := w.records.record(t, "gc-town-a")
		r.State, r.Start = session.StateStarting, session.StartOpen
		if err := w.records.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w.begin()
		w.after(time.Minute)
		if r := w.records.record(t, "gc-town-a"); r.Start != session.StartDone || len(r.Failures) != 0 || w.fake.number("stop") != 0 {
			t.Errorf("a complete start was judged: %+v, %v", r, w.fake)
		}
	})
}

// TestCutStartsHaveABudget kills every controller during the start: what was begun
// is ended by name, counted once, and in the end left alone.
func TestCutStartsHaveABudget(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.settings = Settings{MaxRestarts: 3, RestartWindow: time.Hour}
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.halfway()
		for range 8 {
			w.begin()
			w.after(15 * time.Second)
			w.killed()
		}
		w.begin()
		w.want("a", client.StateQuarantined)
		if n := w.fake.number("start"); n != 3 || len(w.fake.lives()) != 0 {
			t.Errorf("%d starts, %v runs; want the 3 of max_restarts and nothing", n, w.fake.lives())
		}
		if got := w.agent("a").Reason; !strings.Contains(got, "cut off") {
			t.Errorf("the reason is %q", got)
		}
	})
}

// TestACutStartIsCountedOnce kills the controller between the count and the stop.
func TestACutStartIsCountedOnce(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.fake.stubborn["gc-town-a"] = -1
		w.cutOff()
		for range 3 {
			w.after(2 * time.Second)
			w.killed()
			w.begin()
		}
		w.after(2 * time.Second)
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 1 || r.Start != session.StartCut {
			t.Errorf("counted %d times, its start is %q", len(r.Failures), r.Start)
		}
		w.fake.set(func(f *fake) { f.stubborn["gc-town-a"] = 0 })
		w.after(time.Minute)
		if got := w.fake.lives()["gc-town-a"]; got != "token-2" {
			t.Errorf("%q runs once it could be ended", got)
		}
	})
}

// relaunched edits how the agent is launched and waits for the relaunch.
func (w *fakeCity) relaunched(t *testing.T) {
	t.Helper()
	w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Command += " again" })
	if err := w.reload(); err != nil {
		t.Fatal(err)
	}
	w.after(time.Minute)
}

// TestNothingForTheFormerReachesARelaunchedAgent names the previous instance in
// every order.
func TestNothingForTheFormerReachesARelaunchedAgent(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		before, err := w.c.Snapshot("a")
		if err != nil {
			t.Fatal(err)
		}
		w.relaunched(t)
		after, err := w.c.Snapshot("a")
		if err != nil || after.Instance == before.Instance || after.Token == before.Token || after.Epoch != before.Epoch+1 {
			t.Fatalf("the instance is %s of %d, it was %s of %d (%v)", after.Instance, after.Epoch, before.Instance, before.Epoch, err)
		}
		ctx, req := t.Context(), client.LifecycleRequest{Instance: before.Instance}
		for name, order := range map[string]func() error{
			"kill":      func() error { _, err := w.c.Kill(ctx, "a", req); return err },
			"drain":     func() error { _, err := w.c.Drain(ctx, "a", req); return err },
			"ack":       func() error { _, err := w.c.DrainAck(ctx, "a", req); return err },
			"renew":     func() error { _, err := w.c.RequestRestart(ctx, "a", req); return err },
			"sleep":     func() error { _, err := w.c.Sleep(ctx, "a", req); return err },
			"interrupt": func() error { _, err := w.c.Interrupt(ctx, "a", req); return err },
			"keys": func() error {
				_, err := w.c.Keys(ctx, "a", client.KeysRequest{Keys: []string{"Enter"}, Instance: before.Instance})
				return err
			},
			"restart": func() error {
				_, err := w.c.Restart(ctx, client.RestartRequest{Targets: []string{"a"}, Instance: before.Instance})
				return err
			},
		} {
			if err := order(); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "stale instance") {
				t.Errorf("%s for the previous instance: %v", name, err)
			}
		}
		if _, err := w.c.Drain(ctx, "a", client.LifecycleRequest{Instance: after.Instance}); err != nil {
			t.Errorf("the present one cannot be drained: %v", err)
		}
		w.killed()
		w.begin()
		if v, err := w.c.Snapshot("a"); err != nil || v.Instance != after.Instance || v.Epoch != after.Epoch || !v.Draining {
			t.Errorf("another controller sees %+v, %v", v, err)
		}
	})
}

// TestARelaunchThatWasCutOff kills the controller while the new agent comes up, and
// fails another one's start.
func TestARelaunchThatWasCutOff(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.begin()
		hung := make(chan struct{})
		w.fake.onRelaunch = func() error {
			w.fake.mu.Unlock()
			defer w.fake.mu.Lock()
			<-hung
			return context.Canceled
		}
		w.relaunched(t)
		time.AfterFunc(time.Millisecond, func() { close(hung) })
		w.killed()
		w.fake.set(func(f *fake) { f.onRelaunch = nil })
		w.begin()
		w.after(time.Minute)
		a, r := w.agent("a"), w.records.record(t, "gc-town-a")
		if lives := w.fake.lives(); a.State != client.StateRunning || lives["gc-town-a"] != "token-3" || len(r.Failures) != 1 || r.Epoch != 3 {
			t.Errorf("it is %s (%s) as %v after %d failures in its instance %d", a.State, a.Reason, lives, len(r.Failures), r.Epoch)
		}

		w.fake.set(func(f *fake) { f.onRelaunch = func() error { return errors.New("it never became ready") } })
		w.relaunched(t)
		// the edit has forgiven the first failure
		if r := w.records.record(t, "gc-town-a"); w.fake.lives()["gc-town-a"] != "token-5" || len(r.Failures) != 1 || r.Epoch != 5 {
			t.Errorf("after a relaunch that failed %v runs, %+v", w.fake.lives(), r)
		}
	})
}

// TestAPlaceThatCannotRename relaunches where the agent keeps its name: that happens
// once.
func TestAPlaceThatCannotRename(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.forgetful = true
		w.begin()
		w.relaunched(t)
		w.relaunched(t)
		if w.fake.number("relaunch") != 1 || w.fake.number("stop") != 1 {
			t.Errorf("calls are %v, want one relaunch, then a restart", w.fake)
		}
		w.killed()
		w.begin()
		w.after(time.Minute)
		if w.fake.number("stop") != 1 {
			t.Error("another controller ended it")
		}
	})
}

// TestEpochsNeverGoBack loses the store while an agent runs.
func TestEpochsNeverGoBack(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		for range 4 {
			if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}}); err != nil {
				t.Fatal(err)
			}
			w.after(time.Second)
		}
		if env := w.fake.sessions["gc-town-a"].cfg.Env; env["GC_RUNTIME_EPOCH"] != "5" {
			t.Errorf("the agent receives %q", env["GC_RUNTIME_EPOCH"])
		}
		w.killed()
		w.records = &countingStore{}
		w.begin()
		w.after(time.Second)
		if a, b := w.agent("a").Epoch, w.agent("b").Epoch; a != 5 || b != 1 {
			t.Errorf("without the store the instances are %d and %d, want 5 and 1", a, b)
		}
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Command += " again" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Minute)
		w.killed()
		w.records = &countingStore{}
		w.begin()
		if a := w.agent("a").Epoch; a != 6 {
			t.Errorf("after a relaunch and another loss it is instance %d, want 6", a)
		}
		if n := slices.Index(w.kinds("gc-town-a"), "session.start_failed"); n >= 0 {
			t.Error("a start is said to have failed")
		}
	})
}
