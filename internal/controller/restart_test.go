package controller

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// A provider refuses every start because the session exists, and lists nothing. The starts
// are repeated with growing pauses, count as failures, and the status says why.
func TestStartsOfAnUnlistedSessionAreBounded(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.settings.MaxRestarts = 5
		starts := 0
		w.provider.onCommand = func(string) error { starts++; return runtime.ErrSessionExists }
		w.start()
		synctest.Wait()
		if a := w.agent("a"); a.State != client.StateFailed || !strings.Contains(a.Reason, "already exists") || a.NextAt.IsZero() {
			t.Errorf("after the first refusal it is %s (%s), next try %v; want failed, why, and when it is tried again", a.State, a.Reason, a.NextAt)
		}
		w.advance(time.Minute)
		if starts > 5 {
			t.Errorf("%d starts within a minute, want a handful", starts)
		}
		w.advance(9 * time.Minute)
		if a := w.agent("a"); a.State != client.StateQuarantined || starts != 5 {
			t.Errorf("after %d refusals it is %s (%s), want quarantined after 5", starts, a.State, a.Reason)
		}
	})
}

// A start is refused because the session exists. The next listing has it: it is adopted, without a fault.
func TestExistingSessionIsAdopted(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.onCommand = func(string) error {
			err := w.provider.startLocked(t.Context(), "gc-town-a", runtime.Config{Env: map[string]string{"GC_INSTANCE_TOKEN": "another"}})
			return errors.Join(err, runtime.ErrSessionExists)
		}
		w.start()
		w.advance(time.Second)
		w.want("a", client.StateRunning)
		if a, r := w.agent("a"), w.records.record(t, "gc-town-a"); r.Fault != "" || !r.NextAt.IsZero() || w.provider.number("start") != 1 {
			t.Errorf("after %d starts: %+v, record %+v; want it adopted without a fault", w.provider.number("start"), a, r)
		}
	})
}

// Starts are bounded even if they succeed and the agents exit at once without a counted failure.
func TestStartsOfOneSessionAreBounded(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		for range 3 * mostStarts {
			w.c.calls <- func(l *loop) {
				l.entries[session.Key{Provider: "fake", Session: "gc-town-a"}].rec.ResetFailures()
				l.dirty = true
			}
			w.provider.mu.Lock()
			if w.provider.aliveLocked("gc-town-a") {
				w.provider.endLocked("gc-town-a", 1)
			}
			w.provider.mu.Unlock()
			w.advance(100 * time.Millisecond)
			w.c.calls <- func(l *loop) {
				l.entries[session.Key{Provider: "fake", Session: "gc-town-a"}].rec.ResetFailures()
				l.dirty = true
			}
			synctest.Wait()
		}
		if n := len(w.provider.starts()); n > mostStarts {
			t.Errorf("%d starts within a few seconds, want at most %d", n, mostStarts)
		}
	})
}

// An agent that exits after a long run is started again at once. If it fails again soon, it waits.
func TestFirstRestartAfterALongRunIsImmediate(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.advance(time.Hour)
		w.provider.end("gc-town-a", 7)
		synctest.Wait()
		w.want("a", client.StateRunning)
		if n := len(w.provider.starts()); n != 2 {
			t.Fatalf("%d starts right after the end, want 2", n)
		}
		w.advance(time.Minute)
		w.provider.end("gc-town-a", 7)
		synctest.Wait()
		if a := w.agent("a"); a.State != client.StateFailed || time.Until(a.NextAt) != 3*time.Second {
			t.Errorf("after a second failure it is %s, next try in %v; want failed and 3s", a.State, time.Until(a.NextAt))
		}
	})
}

// All agents exit while no controller runs, as in a reboot. That is no failure of an agent, and all start
// at once.
func TestLossOfAllSessionsIsNoFailure(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.start()
		w.stop()
		w.provider.vanish("gc-town-a")
		w.provider.vanish("gc-town-b")
		w.start()
		for _, name := range []string{"a", "b"} {
			w.want(name, client.StateRunning)
			if r := w.records.record(t, "gc-town-"+name); len(r.Failures) != 0 || r.Streak != 0 {
				t.Errorf("%s has the failures %v, want none", name, r.Failures)
			}
		}
	})
}

// A stop of the city before the first observations waits for them, because they show the owners of the
// sessions.
func TestStopCityWaitsForTheFirstObservations(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.provider.polite = true
		w.start()
		w.stop()
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[:1] })
		w.records = &recordStore{}
		look := make(chan struct{})
		w.provider.onObserve = func(name string) {
			if name == "gc-town-b" {
				<-look
			}
		}
		w.start()
		time.AfterFunc(8*time.Second, func() { close(look) })
		census, err := w.c.StopCity(t.Context())
		if err != nil || !census.Clean || len(census.Sessions) != 2 || len(w.provider.lives()) > 0 {
			t.Errorf("census %+v, error %v, %v still run; want both sessions ended", census, err, w.provider.lives())
		}
		w.waitForExit()
	})
}

// A person starts the city after an agent has exited while no controller ran. The agent is started at
// once, without a failure. Failures before the last stop do not count either.
func TestRequestedStartHasNoBackoff(t *testing.T) {
	inTestCity(t, []string{"a", "b", "c"}, func(t *testing.T, w *testCity) {
		w.settings.MaxRestarts = 1
		w.start()
		w.provider.end("gc-town-b", 1)
		w.advance(100 * time.Millisecond)
		w.want("b", client.StateQuarantined)
		w.stop()
		w.provider.end("gc-town-a", 3)
		w.change = func(o *Options) { o.Retry = true }
		w.start()
		for _, name := range []string{"a", "b", "c"} {
			w.want(name, client.StateRunning)
			if r := w.records.record(t, "gc-town-"+name); len(r.Failures) != 0 {
				t.Errorf("%s has the failures %v, want none", name, r.Failures)
			}
		}
	})
}

// A start of the failed agents does not change the running ones. The failed ones are started at once.
func TestStartOfFailedAgentsLeavesRunningAgents(t *testing.T) {
	inTestCity(t, []string{"runs", "failed"}, func(t *testing.T, w *testCity) {
		w.settings.MaxRestarts = 1
		w.start()
		before := w.provider.lives()["gc-town-runs"]
		w.provider.end("gc-town-failed", 1)
		w.advance(100 * time.Millisecond)
		w.want("failed", client.StateQuarantined)
		if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"runs", "failed"}, NotRunning: true}); err != nil {
			t.Fatal(err)
		}
		w.advance(100 * time.Millisecond)
		w.want("failed", client.StateRunning)
		if after := w.provider.lives()["gc-town-runs"]; after != before {
			t.Errorf("the running agent was %s and is %s", before, after)
		}
	})
}

// TestAnUnclearFirstObservationIsNoFailure: an agent exits while no controller runs, and the first observation of the next
// controller, which a person has started, cannot show that. The exit is no failure, and the agent is started at once.
func TestAnUnclearFirstObservationIsNoFailure(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.start()
		w.stop()
		w.provider.end("gc-town-a", 127)
		w.provider.set(func(f *testProvider) { f.blind["gc-town-a"] = true })
		w.change = func(o *Options) { o.Retry = true }
		w.start()
		w.want("a", client.StateUnknown)
		w.provider.set(func(f *testProvider) { f.blind["gc-town-a"] = false })
		w.advance(10 * time.Second)
		r := w.records.record(t, "gc-town-a")
		if len(r.Failures) != 0 || w.provider.number("start") != 2 {
			t.Errorf("%d failures are counted, %v", len(r.Failures), w.provider)
		}
		w.want("a", client.StateRunning)
		w.provider.end("gc-town-a", 1) // a later exit is one
		w.advance(10 * time.Second)
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 1 {
			t.Errorf("%d failures are counted, want one", len(r.Failures))
		}
	})
}
