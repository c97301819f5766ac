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
	"gascity/internal/controller/ops"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

func TestStopCityEndsEverythingAndTheController(t *testing.T) {
	inFakeCity(t, names(30), func(t *testing.T, w *fakeCity) {
		w.begin()
		w.fake.end("gc-town-a004", 0)
		synctest.Wait()
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if err != nil || !census.Clean || len(census.Sessions) != 30 {
			t.Errorf("census is %+v with error %v, want 30 sessions and clean", census, err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("it took %v, want the shutdown_timeout of 5s", took)
		}
		if lives := w.fake.lives(); len(lives) > 0 || w.fake.number("interrupt") != 29 {
			t.Errorf("%d sessions run and %d were interrupted, want none and 29", len(lives), w.fake.number("interrupt"))
		}
		w.stopped = true
		if err := <-w.done; err != nil {
			t.Errorf("the controller ended with %v", err)
		}
		if got := w.fake.number("start"); got != 30 {
			t.Errorf("%d starts, want none after the first 30", got)
		}
		if _, err := w.c.Reload(t.Context()); err == nil {
			t.Error("an ended controller still reloads")
		}
	})
}

func TestStopCityDoesNotWaitForAgentsThatEnd(t *testing.T) {
	inFakeCity(t, names(10), func(t *testing.T, w *fakeCity) {
		w.fake.polite = true
		w.begin()
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if err != nil || !census.Clean || time.Since(began) > time.Second {
			t.Errorf("census %+v, error %v after %v; want a clean end at once", census, err, time.Since(began))
		}
		if got := w.fake.number("start"); got != 10 {
			t.Errorf("%d starts, want that an interrupted agent stays away", got)
		}
		w.joined()
	})
}

func TestStopCityCancelsStarts(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.fake.onStart = func(ctx context.Context, _ string) error {
			<-ctx.Done()
			return ctx.Err()
		}
		w.begin()
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if took := time.Since(began); took > time.Second {
			t.Errorf("the stop waited %v for starts that it should have cancelled", took)
		}
		if err != nil || !census.Clean || len(w.fake.lives()) > 0 {
			t.Errorf("census %+v, error %v, %v run; want a clean end", census, err, w.fake.lives())
		}
		w.joined()
	})
}

func TestStopCityEndsWhatNobodyAsksForToo(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.end()
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[:1] })
		w.records = &countingStore{}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, err := Open(ctx, w.options())
		if err != nil {
			t.Fatal(err)
		}
		w.c, w.cancel, w.done, w.stopped = c, cancel, make(chan error, 1), false
		go func() { w.done <- c.Run(ctx) }()
		census, err := c.StopCity(t.Context()) // before the first look
		if err != nil || !census.Clean || len(census.Sessions) != 2 || len(w.fake.lives()) > 0 {
			t.Errorf("census %+v, error %v, %v still run; want both sessions ended", census, err, w.fake.lives())
		}
		w.joined()
	})
}

func TestAStopThatFailsIsToldAndNothingComesBack(t *testing.T) {
	inFakeCity(t, []string{"good", "bad"}, func(t *testing.T, w *fakeCity) {
		w.fake.stubborn["gc-town-bad"] = -1
		w.begin()
		census, err := w.c.StopCity(t.Context())
		if err != nil || census.Clean || len(census.Sessions) != 2 || !strings.Contains(census.Sessions[0].Error, "will not end") {
			t.Errorf("census %+v, error %v; want the stubborn session named and not clean", census, err)
		}
		w.after(time.Hour)
		if got := w.fake.number("start"); got != 2 || len(w.fake.lives()) != 1 {
			t.Errorf("%d starts and %v run; want that nothing came back", got, w.fake.lives())
		}
		if status, _ := w.c.Status(t.Context()); !status.Controller.Stopping || !status.Controller.Stuck {
			t.Errorf("status says %+v, want that the city is stopping and stuck", status.Controller)
		}
		w.fake.set(func(f *fake) { f.stubborn["gc-town-bad"] = 0 })
		if census, err := w.c.StopCity(t.Context()); err != nil || !census.Clean {
			t.Errorf("the second stop gives %+v, %v; want clean", census, err)
		}
		w.joined()
	})
}

func TestStopCityIsBoundedWhenThePlaceIsGone(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.fake.set(func(f *fake) { f.down = errDown })
		w.after(time.Minute)
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if took := time.Since(began); took > 2*awayAfter {
			t.Errorf("the stop waited %v for a place that is gone", took)
		}
		if err != nil || census.Clean || len(census.Sessions) != 1 || !strings.Contains(census.Sessions[0].Error, "no answer") {
			t.Errorf("census %+v, error %v; want that a could not be observed", census, err)
		}
		if w.fake.number("stop") != 0 {
			t.Error("an unobservable session was stopped")
		}
		w.after(time.Hour)
		if status, _ := w.c.Status(t.Context()); !status.Controller.Stuck {
			t.Errorf("status says %+v, want a stuck stop", status.Controller)
		}
		w.fake.set(func(f *fake) { f.down = nil })
		w.joined() // what was left is ended when it is back, and then the controller
		if lives := w.fake.lives(); len(lives) > 0 {
			t.Errorf("%v still run", lives)
		}
	})
}

// A place that answers nothing, also no failure, delays no other place; the
// sessions of other places end as usual.
func TestStopCityIsBoundedWhenAPlaceSaysNothing(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		silent := make(chan struct{})
		w.fake.set(func(f *fake) { f.silent = silent })
		began := time.Now()
		census, err := w.c.StopCity(t.Context())
		if took := time.Since(began); took > 2*awayAfter {
			t.Errorf("the stop waited %v for a place that says nothing", took)
		}
		if err != nil || census.Clean || len(census.Sessions) != 2 {
			t.Errorf("census %+v, error %v; want both sessions named", census, err)
		}
		close(silent)
		w.joined()
		if lives := w.fake.lives(); len(lives) > 0 {
			t.Errorf("%v still run", lives)
		}
	})
}

func TestTheControllersEndLeavesTheSessions(t *testing.T) {
	inFakeCity(t, names(5), func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		done, err := w.c.StopController(t.Context())
		if err != nil || !strings.Contains(done.Detail, "5 sessions") {
			t.Errorf("got %+v, %v", done, err)
		}
		w.stopped = true
		if err := <-w.done; err != nil || len(w.fake.lives()) != len(before) {
			t.Errorf("ended with %v and %d of %d sessions", err, len(w.fake.lives()), len(before))
		}
	})
}

func TestReloadSwapsThePlan(t *testing.T) {
	inFakeCity(t, []string{"a", "b", "c"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.edit(func(d *plan.Desired) {
			d.Sessions = append(d.Sessions[1:], agentSession("d"))
			d.Sessions[0].Suspended = true
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		lives := w.fake.lives()
		if len(lives) != 2 || lives["gc-town-c"] == "" || lives["gc-town-d"] == "" {
			t.Errorf("%v run, want c and d", lives)
		}
		w.want("b", client.StateSuspended)
	})
}

func TestABrokenEditKeepsThePlan(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.mu.Lock()
		w.loadErr = context.Canceled
		w.desired.Sessions = nil
		w.mu.Unlock()
		if err := w.reload(); err == nil {
			t.Error("a broken edit was taken")
		}
		status, _ := w.c.Status(t.Context())
		if status.Plan.Error == "" || len(status.Agents) != 1 || len(w.fake.lives()) != 1 {
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

func TestDriftWaitsForTheHuman(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		w.fake.set(func(f *fake) {
			f.sessions["gc-town-a"].attached = 1
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a", Attached: 1})
		})
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.WorkDir = "/new" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Hour)
		a := w.agent("a")
		if w.fake.lives()["gc-town-a"] != before["gc-town-a"] || !slices.Equal(a.Drift, []string{"WorkDir"}) || !strings.Contains(a.Reason, "attached") {
			t.Errorf("got %+v, want the same instance and the reason", a)
		}
		w.fake.set(func(f *fake) {
			f.sessions["gc-town-a"].attached = 0
			f.emit(runtime.Event{Kind: runtime.EventAttached, Session: "gc-town-a"})
		})
		w.after(time.Second)
		if w.fake.lives()["gc-town-a"] == before["gc-town-a"] {
			t.Error("no client is attached any more, and still nothing was restarted")
		}
	})
}

func TestASecretAttachmentIsSeenBeforeADriftRestart(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		w.after(time.Minute)
		w.fake.set(func(f *fake) { f.sessions["gc-town-a"].attached = 1 }) // and the event is lost
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.WorkDir = "/new" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Minute)
		if w.fake.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("the session was restarted under an attached terminal")
		}
	})
}

func TestLaunchDriftRelaunchesAndLiveDriftApplies(t *testing.T) {
	inFakeCity(t, []string{"launch", "live"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		w.edit(func(d *plan.Desired) {
			d.Sessions[0].Config.Command = "run another"
			d.Sessions[1].Config.SessionLive = []string{"echo"}
		})
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Minute)
		if w.fake.number("relaunch") != 1 || w.fake.number("live") != 1 || w.fake.number("stop") != 0 {
			t.Errorf("calls are %v, want one relaunch, one live, no stop", w.fake)
		}
		if lives := w.fake.lives(); lives["gc-town-live"] != before["gc-town-live"] {
			t.Error("the live drift replaced the instance")
		}
		if got := w.fake.sessions["gc-town-launch"].cfg.Command; got != "run another" {
			t.Errorf("the relaunched command is %q", got)
		}
	})
}

func TestMassDriftRollsAndHaltsWhenTheNewConfigurationIsBroken(t *testing.T) {
	inFakeCity(t, names(50), func(t *testing.T, w *fakeCity) {
		w.settings = Settings{MaxRestarts: 2}
		w.begin()
		before := w.fake.lives()
		w.fake.set(func(f *fake) {
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
		w.after(30 * time.Minute)
		if lives := w.fake.lives(); len(lives) != 47 {
			t.Errorf("%d of 50 sessions survive a broken configuration, want 47", len(lives))
		}
		w.edit(func(d *plan.Desired) {
			for i := range d.Sessions {
				d.Sessions[i].Config.WorkDir = ""
			}
		})
		w.fake.set(func(f *fake) { f.onStart = nil })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(2 * time.Hour)
		same := 0
		for name, token := range w.fake.lives() {
			if before[name] == token {
				same++
			}
		}
		if len(w.fake.lives()) != 50 || same != 47 {
			t.Errorf("after the edit was taken back %d run, %d of them undisturbed; want 50 and 47", len(w.fake.lives()), same)
		}
	})
}

func TestKillEndsOneInstanceAndItComesBack(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		r, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{})
		if err != nil || r.Session != "gc-town-a" || r.Error != "" {
			t.Errorf("got %+v, %v", r, err)
		}
		w.after(time.Second)
		after := w.fake.lives()
		if after["gc-town-a"] == "" || after["gc-town-a"] == before["gc-town-a"] || after["gc-town-b"] != before["gc-town-b"] {
			t.Errorf("before %v, after %v; want a new a and the same b", before, after)
		}
		if _, err := w.c.Kill(t.Context(), "nobody", client.LifecycleRequest{}); err == nil {
			t.Error("killed a session that is not configured")
		}
	})
}

func TestASuccessorIsNeverStopped(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.fake.set(func(f *fake) { f.sessions["gc-town-a"].token = "somebody-else" }) // replaced, and no event
		r, err := w.c.Kill(t.Context(), "a", client.LifecycleRequest{})
		if w.fake.lives()["gc-town-a"] != "somebody-else" {
			t.Errorf("the kill of the previous instance hit its successor: %+v, %v", r, err)
		}
		if err == nil && r.Error == "" {
			t.Errorf("nothing was killed, and the answer is %+v", r)
		}
	})
}

func TestRestartReplacesEverybody(t *testing.T) {
	inFakeCity(t, names(12), func(t *testing.T, w *fakeCity) {
		w.begin()
		before := w.fake.lives()
		done, err := w.c.Restart(t.Context(), client.RestartRequest{})
		if err != nil || !done.Changed {
			t.Errorf("got %+v, %v", done, err)
		}
		w.after(time.Second)
		after := w.fake.lives()
		for name, token := range before {
			if after[name] == "" || after[name] == token {
				t.Errorf("%s was %s and is %s, want a new instance", name, token, after[name])
			}
		}
	})
}

func TestVerbsReachTheirSession(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		ctx := t.Context()
		if out, err := w.c.Peek(ctx, "a", 5); err != nil || out.Text != "screen of gc-town-a" {
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
		w.fake.end("gc-town-a", 1)
		synctest.Wait()
		if _, err := w.c.Interrupt(ctx, "a", client.LifecycleRequest{}); err == nil {
			t.Error("interrupted the dead")
		}
	})
}

func TestTheAgentsOwnWordsAreItsActivity(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.deaf = true
		w.begin()
		for words, want := range map[string]string{
			"status=working": "busy", "status=blocked;kind=permission": "waiting", "idle": "idle", "status=done": "idle", "status=dancing": "unknown",
		} {
			w.fake.set(func(f *fake) { f.emit(runtime.Event{Kind: runtime.EventStatus, Session: "gc-town-a", Status: words}) })
			w.after(time.Second)
			if got := w.agent("a").Activity.State; got != want {
				t.Errorf("%q is shown as %q, want %q", words, got, want)
			}
		}
		before := w.fake.lives()
		w.fake.set(func(f *fake) {
			f.emit(runtime.Event{Kind: runtime.EventStatus, Session: "gc-town-a", Status: "status=working"})
		})
		w.after(time.Second)
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.WorkDir = "/new" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(time.Hour)
		if w.fake.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("a busy agent was restarted for a changed configuration")
		}
	})
}
