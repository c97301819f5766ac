package controller

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// TestAnEdgeConcernsItsSessionAlone lets one agent of many begin and end turns, and
// counts how many sessions are judged for it.
func TestAnEdgeConcernsItsSessionAlone(t *testing.T) {
	inFakeCity(t, names(100), func(t *testing.T, w *fakeCity) {
		var judged atomic.Int64
		told := map[string]int{}
		w.change = func(o *Options) {
			o.Queued = func(string) (int, time.Time) { judged.Add(1); return 0, time.Time{} }
			o.Changed = func(name string) { told[name]++ }
		}
		w.settings = Settings{Patrol: time.Hour}
		for _, name := range names(100) {
			w.fake.setActivity("gc-town-"+name, runtime.ActivityIdle)
		}
		w.begin()
		w.after(10 * time.Minute)
		before, calls := judged.Load(), w.fake.snapshotCalls()
		clear(told)
		const edges = 20
		for i := range edges {
			word := []runtime.Activity{runtime.ActivityBusy, runtime.ActivityIdle}[i%2]
			w.fake.setActivity("gc-town-a007", word)
			synctest.Wait()
			if v, err := w.c.Snapshot("a007"); err != nil || v.Activity.State != word {
				t.Fatalf("edge %d is seen as %q, %v", i, v.Activity.State, err)
			}
			if a := w.agent("a007"); a.Activity.State != string(word) {
				t.Errorf("the status says %s at edge %d", a.Activity.State, i)
			}
			w.after(time.Second)
		}
		if n := judged.Load() - before; n > 4*edges {
			t.Errorf("%d sessions were judged for %d edges of one", n, edges)
		}
		if len(told) != 1 || told["gc-town-a007"] != edges {
			t.Errorf("reported %v", told)
		}
		after := w.fake.snapshotCalls()
		if after["observe"] != calls["observe"] || after["list"] != calls["list"] {
			t.Errorf("looked at sessions: %v, before %v", after, calls)
		}
	})
}

// TestAnEdgeThatMattersIsActedOn ends the turn of an agent for which a restart waits,
// and of a member that its pool does not want any more.
func TestAnEdgeThatMattersIsActedOn(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.settings = Settings{Patrol: time.Hour}
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy)
		w.fake.setActivity("gc-town-b", runtime.ActivityIdle)
		w.begin()
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.WorkDir = "/new" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.after(10 * time.Minute)
		if w.fake.number("stop") != 0 {
			t.Fatal("a busy agent was ended")
		}
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
		w.after(time.Minute)
		if a := w.agent("a"); w.fake.number("stop") != 1 || a.State != client.StateRunning || len(a.Drift) > 0 {
			t.Errorf("a minute after its turn %+v; %v", a, w.fake)
		}
	})
}

// TestAPersonsInputIsSeenWithAReading types where no event reports it.
func TestAPersonsInputIsSeenWithAReading(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle)
		w.begin()
		w.after(time.Minute)
		typed := time.Now()
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle, func(r *runtime.Reading) { r.LastInput = typed })
		w.after(2 * activityLag)
		if v, err := w.c.Snapshot("a"); err != nil || !v.LastInput.Equal(typed) {
			t.Errorf("the last input is %v, want %v (%v)", v.LastInput, typed, err)
		}
		w.fake.setActivity("gc-town-a", runtime.ActivityIdle, func(r *runtime.Reading) { r.LastInput = typed.Add(-time.Hour) })
		w.after(time.Second)
		if v, _ := w.c.Snapshot("a"); !v.LastInput.Equal(typed) {
			t.Errorf("an older reading took it back to %v", v.LastInput)
		}
	})
}
