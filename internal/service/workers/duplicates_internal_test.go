package workers

import (
	"testing"
	"time"

	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/storetest"
	"gascity/worker"
)

// TestQuestionOnTheScreenWaitsForTheHook: a permission question on the screen of an agent with hooks is
// listed after one second, because its hook may ask the same. It is listed even if the screen changes all the
// time. An agent without any report has no hook, and its question is listed at once.
func TestQuestionOnTheScreenWaitsForTheHook(t *testing.T) {
	now := time.Now()
	e := New(Options{Events: storetest.NewEvents(10, 0, time.Now), Now: func() time.Time { return now }})
	listed := func(a *liveRun, id string) bool {
		r := runtime.Reading{
			At: now, Pending: &runtime.PendingInteraction{RequestID: id, Kind: runtime.WaitPermission},
			Evidence: []runtime.Evidence{{Source: runtime.SourceScreen, Activity: runtime.ActivityWaiting}},
		}
		shown := *r.Pending
		a.mu.Lock()
		a.mergeDuplicatesLocked(&r)
		a.mu.Unlock()
		if got := !a.hidesTerminalQuestion(&shown); got != (r.Pending != nil) || got != (len(r.Evidence) == 1) {
			t.Errorf("the reading and the question itself say different things: %v, %+v", got, r)
		}
		if r.Pending == nil && !r.Again.After(now) {
			t.Error("the screen is not read again")
		}
		return r.Pending != nil
	}
	silent, reports := newLiveRun(e, "s", "silent", "one"), newLiveRun(e, "s", "reports", "two")
	reports.life, _ = session.RunHistory{}.Apply(worker.Lifecycle{Event: worker.Busy, Timestamp: now}, now)
	if !listed(silent, "q") {
		t.Error("the question of an agent without hooks waits")
	}
	for i := range 9 {
		if listed(reports, string(rune('a'+i))) {
			t.Errorf("it is listed after %d00 ms", i)
		}
		now = now.Add(100 * time.Millisecond)
	}
	now = now.Add(200 * time.Millisecond)
	if !listed(reports, "z") {
		t.Error("it is not listed after a second")
	}
	r := runtime.Reading{At: now}
	reports.mu.Lock()
	reports.mergeDuplicatesLocked(&r)
	reports.mu.Unlock()
	if listed(reports, "next") {
		t.Error("the next question does not wait")
	}
}
