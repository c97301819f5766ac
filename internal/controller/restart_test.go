package controller

import (
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
func TestASessionThatExistsUnseenIsNoStartLoop(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.settings.MaxRestarts = 5
		starts := 0
		w.fake.onCommand = func(string) error { starts++; return runtime.ErrSessionExists }
		w.begin()
		synctest.Wait()
		if a := w.agent("a"); a.State != client.StateFailed || !strings.Contains(a.Reason, "already exists") || a.NextAt.IsZero() {
			t.Errorf("after the first refusal it is %s (%s), next try %v; want failed, why, and when it is tried again", a.State, a.Reason, a.NextAt)
		}
		w.after(time.Minute)
		if starts > 5 {
			t.Errorf("%d starts within a minute, want a handful", starts)
		}
		w.after(9 * time.Minute)
		if a := w.agent("a"); a.State != client.StateQuarantined || starts != 5 {
			t.Errorf("after %d refusals it is %s (%s), want quarantined after 5", starts, a.State, a.Reason)
		}
	})
}

// The session that a start ran into appears in the next look: it is adopted, and nothing is
// left of the refusal.
func TestASessionThatExistsIsAdopted(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.onCommand = func(string) error {
			w.fake.sessions["gc-town-a"] = &fakeSession{token: "somebody's", meta: map[string]string{}, began: time.Now()}
			return runtime.ErrSessionExists
		}
		w.begin()
		w.after(time.Second)
		w.want("a", client.StateRunning)
		if a, r := w.agent("a"), w.records.record(t, "gc-town-a"); r.Fault != "" || !r.NextAt.IsZero() || w.fake.number("start") != 1 {
			t.Errorf("after %d starts: %+v, record %+v; want it adopted without a fault", w.fake.number("start"), a, r)
		}
	})
}

// Starts that succeed and whose agents end at once, with nothing that counts as a failure,
// are bounded all the same.
func TestStartsOfOneSessionAreBounded(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		for range 3 * mostStarts {
			w.c.calls <- func(l *loop) {
				l.entries[session.Key{Provider: "fake", Session: "gc-town-a"}].rec.ResetFailures()
				l.dirty = true
			}
			w.fake.mu.Lock()
			if s := w.fake.sessions["gc-town-a"]; s != nil && s.exit == nil {
				w.fake.endLocked("gc-town-a", 1)
			}
			w.fake.mu.Unlock()
			w.after(100 * time.Millisecond)
			w.c.calls <- func(l *loop) {
				l.entries[session.Key{Provider: "fake", Session: "gc-town-a"}].rec.ResetFailures()
				l.dirty = true
			}
			synctest.Wait()
		}
		if n := len(w.fake.starts()); n > mostStarts {
			t.Errorf("%d starts within a few seconds, want at most %d", n, mostStarts)
		}
	})
}

// An agent that ran for a long time and ends is started again at once; one that fails again
// soon after has to wait.
func TestTheFirstRestartAfterALongLifeIsImmediate(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.after(time.Hour)
		w.fake.end("gc-town-a", 7)
		synctest.Wait()
		w.want("a", client.StateRunning)
		if n := len(w.fake.starts()); n != 2 {
			t.Fatalf("%d starts right after the end, want 2", n)
		}
		w.after(time.Minute)
		w.fake.end("gc-town-a", 7)
		synctest.Wait()
		if a := w.agent("a"); a.State != client.StateFailed || time.Until(a.NextAt) != 3*time.Second {
			t.Errorf("after a second failure it is %s, next try in %v; want failed and 3s", a.State, time.Until(a.NextAt))
		}
	})
}

// Everything ends while no controller runs, as in a reboot: that is no failure of any agent,
// and all start at once.
func TestALossOfEverythingIsNoFailure(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.begin()
		w.end()
		w.fake.vanish("gc-town-a")
		w.fake.vanish("gc-town-b")
		w.begin()
		for _, name := range []string{"a", "b"} {
			w.want(name, client.StateRunning)
			if r := w.records.record(t, "gc-town-"+name); len(r.Failures) != 0 || r.Streak != 0 {
				t.Errorf("%s has the failures %v, want none", name, r.Failures)
			}
		}
	})
}

// A stop that is asked for before the sessions were looked at waits for the look that shows
// their owner, also when everything else has ended by then.
func TestStopCityWaitsForTheLookAtEachListedSession(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.fake.polite = true
		w.begin()
		w.end()
		w.edit(func(d *plan.Desired) { d.Sessions = d.Sessions[:1] })
		w.records = &countingStore{}
		look := make(chan struct{})
		w.fake.onObserve = func(name string) {
			if name == "gc-town-b" {
				<-look
			}
		}
		w.begin()
		time.AfterFunc(8*time.Second, func() { close(look) })
		census, err := w.c.StopCity(t.Context())
		if err != nil || !census.Clean || len(census.Sessions) != 2 || len(w.fake.lives()) > 0 {
			t.Errorf("census %+v, error %v, %v still run; want both sessions ended", census, err, w.fake.lives())
		}
		w.joined()
	})
}

// A person starts the city after an agent has ended while no controller ran: it is started at
// once, without a failure. What failed before the last stop is over, too.
func TestAPersonsStartTriesAtOnce(t *testing.T) {
	inFakeCity(t, []string{"a", "b", "c"}, func(t *testing.T, w *fakeCity) {
		w.settings.MaxRestarts = 1
		w.begin()
		w.fake.end("gc-town-b", 1)
		w.after(100 * time.Millisecond)
		w.want("b", client.StateQuarantined)
		w.end()
		w.fake.end("gc-town-a", 3)
		w.change = func(o *Options) { o.Retry = true }
		w.begin()
		for _, name := range []string{"a", "b", "c"} {
			w.want(name, client.StateRunning)
			if r := w.records.record(t, "gc-town-"+name); len(r.Failures) != 0 {
				t.Errorf("%s has the failures %v, want none", name, r.Failures)
			}
		}
	})
}

// Agents that run are left alone by a start of those that do not; the others are tried at once.
func TestStartFailedLeavesRunningAgentsAlone(t *testing.T) {
	inFakeCity(t, []string{"runs", "failed"}, func(t *testing.T, w *fakeCity) {
		w.settings.MaxRestarts = 1
		w.begin()
		before := w.fake.lives()["gc-town-runs"]
		w.fake.end("gc-town-failed", 1)
		w.after(100 * time.Millisecond)
		w.want("failed", client.StateQuarantined)
		if _, err := w.c.Restart(t.Context(), client.RestartRequest{Targets: []string{"runs", "failed"}, NotRunning: true}); err != nil {
			t.Fatal(err)
		}
		w.after(100 * time.Millisecond)
		w.want("failed", client.StateRunning)
		if after := w.fake.lives()["gc-town-runs"]; after != before {
			t.Errorf("the running agent was %s and is %s", before, after)
		}
	})
}
