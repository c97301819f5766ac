package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

func TestStopCityStopsAgentsAndController(t *testing.T) {
	inTestCity(t, names(30), func(t *testing.T, w *testCity) {
		w.start()
		w.provider.end("gc-town-a004", 0)
		synctest.Wait()
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if err != nil || !census.Clean || len(census.Sessions) != 30 {
			t.Errorf("census is %+v with error %v, want 30 sessions and clean", census, err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("it took %v, want the shutdown_timeout of 5s", took)
		}
		if lives := w.provider.lives(); len(lives) > 0 || w.provider.number("interrupt") != 29 {
			t.Errorf("%d sessions run and %d were interrupted, want none and 29", len(lives), w.provider.number("interrupt"))
		}
		w.stopped = true
		if err := <-w.done; err != nil {
			t.Errorf("the controller ended with %v", err)
		}
		if got := w.provider.number("start"); got != 30 {
			t.Errorf("%d starts, want none after the first 30", got)
		}
		if _, err := w.c.Reload(t.Context()); err == nil {
			t.Error("an ended controller still reloads")
		}
	})
}

func TestStopCityDoesNotWaitForAgentsThatExit(t *testing.T) {
	inTestCity(t, names(10), func(t *testing.T, w *testCity) {
		w.provider.polite = true
		w.start()
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if err != nil || !census.Clean || time.Since(began) > time.Second {
			t.Errorf("census %+v, error %v after %v; want a clean end at once", census, err, time.Since(began))
		}
		if got := w.provider.number("start"); got != 10 {
			t.Errorf("%d starts, want that an interrupted agent stays away", got)
		}
		w.waitForExit()
	})
}

func TestStopCityCancelsStarts(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.provider.onStart = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}
		w.start()
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if took := time.Since(began); took > time.Second {
			t.Errorf("the stop waited %v for starts that it should have cancelled", took)
		}
		if err != nil || !census.Clean || len(w.provider.lives()) > 0 {
			t.Errorf("census %+v, error %v, %v run; want a clean end", census, err, w.provider.lives())
		}
		w.waitForExit()
	})
}

func TestStopCityStopsUnconfiguredSessions(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		w.stop()
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[:1] })
		w.records = &recordStore{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, err := Open(ctx, w.options())
		if err != nil {
			t.Fatal(err)
		}
		w.c, w.cancel, w.done, w.stopped = c, cancel, make(chan error, 1), false
		go func() { w.done <- c.Run(ctx) }()
		census, err := c.StopCity(t.Context()) // before the first observation
		if err != nil || !census.Clean || len(census.Sessions) != 2 || len(w.provider.lives()) > 0 {
			t.Errorf("census %+v, error %v, %v still run; want both sessions ended", census, err, w.provider.lives())
		}
		w.waitForExit()
	})
}

func TestFailedStopIsReportedAndNothingIsRestarted(t *testing.T) {
	inTestCity(t, []string{"good", "bad"}, func(t *testing.T, w *testCity) {
		w.provider.stubborn["gc-town-bad"] = -1
		w.start()
		census, err := w.c.StopCity(t.Context())
		if err != nil || census.Clean || len(census.Sessions) != 2 || !strings.Contains(census.Sessions[0].Error, "does not exit") {
			t.Errorf("census %+v, error %v; want the stubborn session named and not clean", census, err)
		}
		w.advance(time.Hour)
		if got := w.provider.number("start"); got != 2 || len(w.provider.lives()) != 1 {
			t.Errorf("%d starts and %v run; want that nothing came back", got, w.provider.lives())
		}
		if status, _ := w.c.Status(t.Context()); !status.Controller.Stopping || !status.Controller.Stuck {
			t.Errorf("status says %+v, want that the city is stopping and stuck", status.Controller)
		}
		w.provider.set(func(f *testProvider) { f.stubborn["gc-town-bad"] = 0 })
		if census, err := w.c.StopCity(t.Context()); err != nil || !census.Clean {
			t.Errorf("the second stop gives %+v, %v; want clean", census, err)
		}
		w.waitForExit()
	})
}

func TestStopCityIsBoundedIfTheProviderFails(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.provider.set(func(f *testProvider) { f.down = errDown })
		w.advance(time.Minute)
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if took := time.Since(began); took > 2*awayAfter {
			t.Errorf("the stop waited %v for a provider that fails", took)
		}
		if err != nil || census.Clean || len(census.Sessions) != 1 || !strings.Contains(census.Sessions[0].Error, "no answer") {
			t.Errorf("census %+v, error %v; want that a could not be observed", census, err)
		}
		if w.provider.number("stop") != 0 {
			t.Error("an unobservable session was stopped")
		}
		w.advance(time.Hour)
		if status, _ := w.c.Status(t.Context()); !status.Controller.Stuck {
			t.Errorf("status says %+v, want a stuck stop", status.Controller)
		}
		w.provider.set(func(f *testProvider) { f.down = nil })
		w.waitForExit() // when the provider is back, the rest is stopped, and the controller exits
		if lives := w.provider.lives(); len(lives) > 0 {
			t.Errorf("%v still run", lives)
		}
	})
}

// A provider that does not return at all delays no other provider. The sessions of other providers are
// stopped as usual.
func TestStopCityIsBoundedIfAProviderHangs(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		silent := make(chan struct{})
		w.provider.set(func(f *testProvider) { f.silent = silent })
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if took := time.Since(began); took > 2*awayAfter {
			t.Errorf("the stop waited %v for a provider that hangs", took)
		}
		if err != nil || census.Clean || len(census.Sessions) != 2 {
			t.Errorf("census %+v, error %v; want both sessions named", census, err)
		}
		close(silent)
		w.waitForExit()
		if lives := w.provider.lives(); len(lives) > 0 {
			t.Errorf("%v still run", lives)
		}
	})
}

func TestControllerExitLeavesTheSessions(t *testing.T) {
	inTestCity(t, names(5), func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		done, err := w.c.StopController(t.Context())
		if err != nil || !strings.Contains(done.Detail, "5 sessions") {
			t.Errorf("got %+v, %v", done, err)
		}
		w.stopped = true
		if err := <-w.done; err != nil || len(w.provider.lives()) != len(before) {
			t.Errorf("ended with %v and %d of %d sessions", err, len(w.provider.lives()), len(before))
		}
	})
}

func TestReloadReplacesThePlan(t *testing.T) {
	inTestCity(t, []string{"a", "b", "c"}, func(t *testing.T, w *testCity) {
		w.start()
		w.edit(func(d *plan.Desired) {
			d.Sessions = append(d.Sessions[1:], agentSession("d"))
			d.Sessions[0].Suspended = true
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Second)
		lives := w.provider.lives()
		if len(lives) != 2 || lives["gc-town-c"] == "" || lives["gc-town-d"] == "" {
			t.Errorf("%v run, want c and d", lives)
		}
		w.want("b", client.StateSuspended)
	})
}

func TestInvalidConfigurationKeepsThePlan(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.mu.Lock()
		w.loadErr = context.Canceled
		w.desired.Sessions = nil
		w.mu.Unlock()
		if err := w.reload(); err == nil {
			t.Error("a broken edit was taken")
		}
		status, _ := w.c.Status(t.Context())
		if status.Plan.Error == "" || len(status.Agents) != 1 || len(w.provider.lives()) != 1 {
			t.Errorf("status is %+v, want the error and the previous agent running", status)
		}
		w.mu.Lock()
		w.loadErr, w.desired.City = nil, "village"
		w.mu.Unlock()
		if err := w.reload(); err == nil || !strings.Contains(err.Error(), "village") {
			t.Errorf("another city's name gives %v, want a refusal", err)
		}
	})
}

func TestDriftRestartWaitsWhileATerminalIsAttached(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		w.provider.set(func(f *testProvider) {
			f.sessions["gc-town-a"].attached = 1
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a", Attached: 1})
		})
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.WorkDir = "/new" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Hour)
		a := w.agent("a")
		if w.provider.lives()["gc-town-a"] != before["gc-town-a"] || !slices.Equal(a.Drift, []string{"WorkDir"}) || !strings.Contains(a.Reason, "attached") {
			t.Errorf("got %+v, want the same instance and the reason", a)
		}
		w.provider.set(func(f *testProvider) {
			f.sessions["gc-town-a"].attached = 0
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a"})
		})
		w.advance(time.Second)
		if w.provider.lives()["gc-town-a"] == before["gc-town-a"] {
			t.Error("no client is attached any more, and still nothing was restarted")
		}
	})
}

func TestUnreportedAttachmentPreventsADriftRestart(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		w.advance(time.Minute)
		w.provider.set(func(f *testProvider) { f.sessions["gc-town-a"].attached = 1 }) // and the event is lost
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.WorkDir = "/new" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Minute)
		if w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("the session was restarted under an attached terminal")
		}
	})
}

func TestLaunchDriftRelaunchesAndLiveDriftApplies(t *testing.T) {
	inTestCity(t, []string{"launch", "live"}, func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		w.edit(func(d *plan.Desired) {
			d.Sessions[0].Config.Command = "run another"
			d.Sessions[1].Config.SessionLive = []string{"echo"}
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Minute)
		if w.provider.number("relaunch") != 1 || w.provider.number("live") != 1 || w.provider.number("stop") != 0 {
			t.Errorf("calls are %v, want one relaunch, one live, no stop", w.provider)
		}
		if lives := w.provider.lives(); lives["gc-town-live"] != before["gc-town-live"] {
			t.Error("the live drift replaced the instance")
		}
		if got := w.provider.sessions["gc-town-launch"].cfg.Command; got != "run another" {
			t.Errorf("the changeCommand command is %q", got)
		}
	})
}

func TestRollingRestartHaltsIfTheNewConfigurationFails(t *testing.T) {
	inTestCity(t, names(50), func(t *testing.T, w *testCity) {
		w.settings = config.Daemon{MaxRestarts: 2}
		w.start()
		before := w.provider.lives()
		w.provider.set(func(f *testProvider) {
			f.onStart = func(context.Context, string) error {
				return &runtime.StartupDeath{Exit: runtime.Exit{Code: 127}}
			}
		})
		w.edit(func(d *plan.Desired) {
			for i := range d.Sessions {
				d.Sessions[i].Config.WorkDir = "/broken"
			}
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(30 * time.Minute)
		if lives := w.provider.lives(); len(lives) != 47 {
			t.Errorf("%d of 50 sessions survive a broken configuration, want 47", len(lives))
		}
		w.edit(func(d *plan.Desired) {
			for i := range d.Sessions {
				d.Sessions[i].Config.WorkDir = ""
			}
		})
		w.provider.set(func(f *testProvider) { f.onStart = nil })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(2 * time.Hour)
		same := 0
		for name, token := range w.provider.lives() {
			if before[name] == token {
				same++
			}
		}
		if len(w.provider.lives()) != 50 || same != 47 {
			t.Errorf("after the edit was taken back %d run, %d of them undisturbed; want 50 and 47", len(w.provider.lives()), same)
		}
	})
}

func TestKilledAgentIsRestarted(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		r, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{})
		if err != nil || r.Session != "gc-town-a" || r.Error != "" {
			t.Errorf("got %+v, %v", r, err)
		}
		w.advance(time.Second)
		after := w.provider.lives()
		if after["gc-town-a"] == "" || after["gc-town-a"] == before["gc-town-a"] || after["gc-town-b"] != before["gc-town-b"] {
			t.Errorf("before %v, after %v; want a new a and the same b", before, after)
		}
		if _, err := w.c.Kill(t.Context(), "nobody", client.LifecycleRequest{}); err == nil {
			t.Error("killed a session that is not configured")
		}
	})
}

func TestAnotherInstanceIsNeverStopped(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.provider.set(func(f *testProvider) { f.sessions["gc-town-a"].token = "somebody-else" }) // replaced, and no event
		r, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{})
		if w.provider.lives()["gc-town-a"] != "somebody-else" {
			t.Errorf("the kill of the previous instance hit its successor: %+v, %v", r, err)
		}
		if err == nil && r.Error == "" {
			t.Errorf("nothing was killed, and the answer is %+v", r)
		}
	})
}

func TestRestartReplacesAllAgents(t *testing.T) {
	inTestCity(t, names(12), func(t *testing.T, w *testCity) {
		w.start()
		before := w.provider.lives()
		done, err := w.c.Restart(t.Context(), client.RestartRequest{})
		if err != nil || !done.Changed {
			t.Errorf("got %+v, %v", done, err)
		}
		w.advance(time.Second)
		after := w.provider.lives()
		for name, token := range before {
			if after[name] == "" || after[name] == token {
				t.Errorf("%s was %s and is %s, want a new instance", name, token, after[name])
			}
		}
	})
}

func TestOperationsReachTheirSession(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		ctx := t.Context()
		if out, err := w.c.Peek(ctx, "a", 5); err != nil || out.Text != "fake agent\n❯" {
			t.Errorf("peek gives %+v, %v", out, err)
		}
		if s, err := w.c.Session(ctx, "a"); err != nil || s.Command != "run a" || s.Meta[ops.MetaCity] != "/town" {
			t.Errorf("session gives %+v, %v", s, err)
		}
		if _, err := w.c.Peek(ctx, "nobody", 5); err == nil {
			t.Error("peeked at a session that is not configured")
		}
		if _, err := w.c.Keys(ctx, "a", client.KeysRequest{Keys: []string{"Retrun"}}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("an unknown key is %v, want an invalid request", err)
		}
		w.provider.end("gc-town-a", 1)
		synctest.Wait()
		if _, err := w.c.Interrupt(ctx, "a", client.LifecycleRequest{}); err == nil {
			t.Error("interrupted the dead")
		}
	})
}

func TestAgentStatusIsItsActivity(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.noSense = true
		w.start()
		for words, want := range map[string]string{
			"status=working": "busy", "status=blocked;kind=permission": "waiting", "idle": "idle", "status=done": "idle", "status=dancing": "unknown",
		} {
			w.provider.set(func(f *testProvider) {
				f.emit(runtime.Event{Kind: runtime.EventStatus, Session: "gc-town-a", Status: words})
			})
			w.advance(time.Second)
			if got := w.agent("a").Activity.State; got != want {
				t.Errorf("%q is shown as %q, want %q", words, got, want)
			}
		}
		before := w.provider.lives()
		w.provider.set(func(f *testProvider) {
			f.emit(runtime.Event{Kind: runtime.EventStatus, Session: "gc-town-a", Status: "status=working"})
		})
		w.advance(time.Second)
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.WorkDir = "/new" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(time.Hour)
		if w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("a busy agent was restarted for a changed configuration")
		}
	})
}
