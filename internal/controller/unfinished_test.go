package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// kill stops the controller as kill -9 does: the next one finds the store and the metadata as they were at
// that moment.
func (w *testCity) kill() {
	w.t.Helper()
	kept := &recordStore{}
	records, err := w.records.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range records {
		if err := kept.Save(w.t.Context(), r); err != nil {
			w.t.Fatal(err)
		}
	}
	w.provider.set(func(f *testProvider) { f.dropsNotes = true })
	w.stop()
	w.records = kept
	w.provider.set(func(f *testProvider) { f.dropsNotes = false })
}

// hangStarts makes starts create the session and then hang until their controller exits.
func (w *testCity) hangStarts() {
	w.provider.set(func(f *testProvider) { f.halfway = true })
}

// killDuringStart kills a controller during its first start, and starts another one.
func (w *testCity) killDuringStart() {
	w.hangStarts()
	w.start()
	w.advance(2 * time.Second)
	w.provider.set(func(f *testProvider) { f.halfway = false })
	w.kill()
	w.start()
}

// TestStartInterruptedByAKill kills the controller during a start.
func TestStartInterruptedByAKill(t *testing.T) {
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
			inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
				w.edit(func(d *plan.Desired) { row.change(d.Sessions[0]) })
				w.provider.setActivity("gc-town-a", row.says)
				w.killDuringStart()
				w.advance(5 * time.Second)
				a, lives, r := w.agent("a"), w.provider.lives(), w.records.record(t, "gc-town-a")
				if a.State != client.StateRunning || r.Start != session.StartDone {
					t.Errorf("it is %s (%s), its start %q", a.State, a.Reason, r.Start)
				}
				if got := lives["gc-town-a"] == "token-1"; got != row.adopted {
					t.Errorf("taken over: %v, want %v; calls %v", got, row.adopted, w.provider)
				}
				failed := strings.Count(strings.Join(w.kinds("gc-town-a"), " "), "session.start_failed")
				if want := map[bool]int{true: 0, false: 1}[row.adopted]; failed != want || len(r.Failures) != want || w.provider.number("stop") != want {
					t.Errorf("%d failures reported, %d counted, %d stops, want %d of each", failed, len(r.Failures), w.provider.number("stop"), want)
				}
				if got := w.provider.number("live"); got != row.live {
					t.Errorf("live commands ran %d times, want %d", got, row.live)
				}
				if (a.Warning != "") != row.warns && row.adopted {
					t.Errorf("the warning is %q", a.Warning)
				}
				w.advance(time.Hour)
				if got := w.provider.lives(); got["gc-town-a"] != lives["gc-town-a"] {
					t.Error("it did not last")
				}
			})
		})
	}
}

// TestInterruptedStartMayStillBecomeReady has an agent that could still become ready, and does not.
func TestInterruptedStartMayStillBecomeReady(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.ReadyPromptPrefix = "❯" })
		w.provider.setActivity("gc-town-a", "")
		w.killDuringStart()
		w.advance(10 * time.Second)
		if a := w.agent("a"); a.State != client.StateStarting || !strings.Contains(a.Reason, "may still become ready") || w.provider.number("stop") != 0 {
			t.Errorf("after 12 s of 20 it is %s: %s", a.State, a.Reason)
		}
		w.advance(15 * time.Second)
		if got := w.provider.lives()["gc-town-a"]; got != "token-2" {
			t.Errorf("after its time %q runs, want its successor", got)
		}
	})
}

// TestInterruptedStartIsNotStoppedWhileATerminalIsAttached attaches a terminal to the agent.
func TestInterruptedStartIsNotStoppedWhileATerminalIsAttached(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.provider.attached = 1
		w.killDuringStart()
		w.advance(time.Hour)
		if a := w.agent("a"); w.provider.number("stop") != 0 || !strings.Contains(a.Reason, "when no terminal is attached") {
			t.Errorf("it is %s: %s; %v", a.State, a.Reason, w.provider)
		}
		w.provider.set(func(f *testProvider) {
			f.attached, f.sessions["gc-town-a"].attached = 0, 0
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a"})
		})
		w.advance(10 * time.Second)
		if got := w.provider.lives()["gc-town-a"]; got != "token-2" {
			t.Errorf("%q runs after the person has left", got)
		}
	})
}

// TestUnsavedCompleteStartIsKept kills the controller after a complete start that is
// not saved yet.
func TestUnsavedCompleteStartIsKept(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.start()
		w.advance(time.Second)
		w.kill()
		r := w.records.record(t, "gc-town-a")
		r.State, r.Start = session.StateStarting, session.StartOpen
		if err := w.records.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		w.start()
		w.advance(time.Minute)
		if r := w.records.record(t, "gc-town-a"); r.Start != session.StartDone || len(r.Failures) != 0 || w.provider.number("stop") != 0 {
			t.Errorf("a complete start was judged: %+v, %v", r, w.provider)
		}
	})
}

// TestInterruptedStartsAreBounded kills every controller during the start. Each started
// session is stopped and counted once, and after max_restarts no more are started.
func TestInterruptedStartsAreBounded(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.settings = config.Daemon{MaxRestarts: 3, RestartWindow: time.Hour}
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.hangStarts()
		for range 8 {
			w.start()
			w.advance(15 * time.Second)
			w.kill()
		}
		w.start()
		w.want("a", client.StateQuarantined)
		if n := w.provider.number("start"); n != 3 || len(w.provider.lives()) != 0 {
			t.Errorf("%d starts, %v runs; want the 3 of max_restarts and nothing", n, w.provider.lives())
		}
		if got := w.agent("a").Reason; !strings.Contains(got, "interrupted because the controller stopped") {
			t.Errorf("the reason is %q", got)
		}
	})
}

// TestInterruptedStartIsCountedOnce kills the controller after the failure is saved and before the stop.
func TestInterruptedStartIsCountedOnce(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.provider.stubborn["gc-town-a"] = -1
		w.killDuringStart()
		for range 3 {
			w.advance(2 * time.Second)
			w.kill()
			w.start()
		}
		w.advance(2 * time.Second)
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 1 || r.Start != session.StartCut {
			t.Errorf("counted %d times, its start is %q", len(r.Failures), r.Start)
		}
		w.provider.set(func(f *testProvider) { f.stubborn["gc-town-a"] = 0 })
		w.advance(time.Minute)
		if got := w.provider.lives()["gc-town-a"]; got != "token-2" {
			t.Errorf("%q runs once it could be ended", got)
		}
	})
}

// changeCommand changes the command of the agent and waits for the relaunch.
func (w *testCity) changeCommand(t *testing.T) {
	t.Helper()
	w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Command += " again" })
	if err := w.reload(); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
}

// TestRequestsForThePreviousInstanceAreRefusedAfterARelaunch names the previous instance in
// every request.
func TestRequestsForThePreviousInstanceAreRefusedAfterARelaunch(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		before, err := w.c.Snapshot("a")
		if err != nil {
			t.Fatal(err)
		}
		w.changeCommand(t)
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
		w.kill()
		w.start()
		if v, err := w.c.Snapshot("a"); err != nil || v.Instance != after.Instance || v.Epoch != after.Epoch || !v.Draining {
			t.Errorf("another controller sees %+v, %v", v, err)
		}
	})
}

// TestRelaunchInterruptedByAKill kills the controller during a relaunch, and makes
// another relaunch fail.
func TestRelaunchInterruptedByAKill(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Nudge = "go" })
		w.start()
		hung := make(chan struct{})
		w.provider.onRelaunch = func() error {
			w.provider.mu.Unlock()
			defer w.provider.mu.Lock()
			<-hung
			return context.Canceled
		}
		w.changeCommand(t)
		time.AfterFunc(time.Millisecond, func() { close(hung) })
		w.kill()
		w.provider.set(func(f *testProvider) { f.onRelaunch = nil })
		w.start()
		w.advance(time.Minute)
		a, r := w.agent("a"), w.records.record(t, "gc-town-a")
		if lives := w.provider.lives(); a.State != client.StateRunning || lives["gc-town-a"] != "token-3" || len(r.Failures) != 1 || r.Epoch != 3 {
			t.Errorf("it is %s (%s) as %v after %d failures in its instance %d", a.State, a.Reason, lives, len(r.Failures), r.Epoch)
		}

		w.provider.set(func(f *testProvider) { f.onRelaunch = func() error { return errors.New("it never became ready") } })
		w.changeCommand(t)
		// the change of the configuration has removed the first failure
		if r := w.records.record(t, "gc-town-a"); w.provider.lives()["gc-town-a"] != "token-5" || len(r.Failures) != 1 || r.Epoch != 5 {
			t.Errorf("after a relaunch that failed %v runs, %+v", w.provider.lives(), r)
		}
	})
}

// TestProviderThatKeepsTheTokenAtARelaunch relaunches an agent whose token stays the same.
// Only the first change is a relaunch.
func TestProviderThatKeepsTheTokenAtARelaunch(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.keepsToken = true
		w.start()
		w.changeCommand(t)
		w.changeCommand(t)
		if w.provider.number("relaunch") != 1 || w.provider.number("stop") != 1 {
			t.Errorf("calls are %v, want one relaunch, then a restart", w.provider)
		}
		w.kill()
		w.start()
		w.advance(time.Minute)
		if w.provider.number("stop") != 1 {
			t.Error("another controller ended it")
		}
	})
}

// TestEpochsNeverDecrease loses the store while an agent runs.
func TestEpochsNeverDecrease(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		for range 4 {
			if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"a"}}); err != nil {
				t.Fatal(err)
			}
			w.advance(time.Second)
		}
		if env := w.provider.sessions["gc-town-a"].cfg.Env; env["GC_RUNTIME_EPOCH"] != "5" {
			t.Errorf("the agent receives %q", env["GC_RUNTIME_EPOCH"])
		}
		w.kill()
		w.records = &recordStore{}
		w.start()
		w.advance(time.Second)
		if a, b := w.agent("a").Epoch, w.agent("b").Epoch; a != 5 || b != 1 {
			t.Errorf("without the store the instances are %d and %d, want 5 and 1", a, b)
		}
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.Command += " again" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Minute)
		w.kill()
		w.records = &recordStore{}
		w.start()
		if a := w.agent("a").Epoch; a != 6 {
			t.Errorf("after a relaunch and another loss it is instance %d, want 6", a)
		}
		if n := slices.Index(w.kinds("gc-town-a"), "session.start_failed"); n >= 0 {
			t.Error("a start is said to have failed")
		}
	})
}
