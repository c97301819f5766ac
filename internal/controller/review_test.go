package controller

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// TestActivityChangeEvaluatesOnlyItsSession changes the activity of one agent of many, and
// counts how many sessions are evaluated.
func TestActivityChangeEvaluatesOnlyItsSession(t *testing.T) {
	inTestCity(t, names(100), func(t *testing.T, w *testCity) {
		var judged atomic.Int64
		changed := map[string]int{}
		w.change = func(o *Options) {
			o.Queued = func(string) (int, time.Time) { judged.Add(1); return 0, time.Time{} }
			o.Changed = func(name string) { changed[name]++ }
		}
		w.settings = config.Daemon{PatrolInterval: time.Hour}
		for _, name := range names(100) {
			w.provider.setActivity("gc-town-"+name, runtime.ActivityIdle)
		}
		w.start()
		w.advance(10 * time.Minute)
		before, calls := judged.Load(), w.provider.snapshotCalls()
		clear(changed)
		const edges = 20
		for i := range edges {
			word := []runtime.Activity{runtime.ActivityBusy, runtime.ActivityIdle}[i%2]
			w.provider.setActivity("gc-town-a007", word)
			synctest.Wait()
			if v, err := w.c.Snapshot("a007"); err != nil || v.Activity.State != word {
				t.Fatalf("edge %d is seen as %q, %v", i, v.Activity.State, err)
			}
			if a := w.agent("a007"); a.Activity.State != string(word) {
				t.Errorf("the status says %s at edge %d", a.Activity.State, i)
			}
			w.advance(time.Second)
		}
		if n := judged.Load() - before; n > 4*edges {
			t.Errorf("%d sessions were judged for %d edges of one", n, edges)
		}
		if len(changed) != 1 || changed["gc-town-a007"] != edges {
			t.Errorf("reported %v", changed)
		}
		after := w.provider.snapshotCalls()
		if after["observe"] != calls["observe"] || after["list"] != calls["list"] {
			t.Errorf("looked at sessions: %v, before %v", after, calls)
		}
	})
}

// TestEndOfATurnHasItsEffects ends the turn of an agent that waits for its restart,
// and of a pool member that is to be stopped.
func TestEndOfATurnHasItsEffects(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.settings = config.Daemon{PatrolInterval: time.Hour}
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
		w.provider.setActivity("gc-town-b", runtime.ActivityIdle)
		w.start()
		w.edit(func(d *plan.Desired) { d.Sessions[0].Config.WorkDir = "/new" })
		if err := w.reload(); err != nil {
			t.Fatal(err)
		}
		w.advance(10 * time.Minute)
		if w.provider.number("stop") != 0 {
			t.Fatal("a busy agent was ended")
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.advance(time.Minute)
		if a := w.agent("a"); w.provider.number("stop") != 1 || a.State != client.StateRunning || len(a.Drift) > 0 {
			t.Errorf("a minute after its turn %+v; %v", a, w.provider)
		}
	})
}

// TestInputOfAPersonIsFoundByAReading has a person type, without an event.
func TestInputOfAPersonIsFoundByAReading(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle)
		w.start()
		w.advance(time.Minute)
		typed := time.Now()
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle, func(r *runtime.Reading) { r.LastInput = typed })
		w.advance(2 * activityLag)
		if v, err := w.c.Snapshot("a"); err != nil || !v.LastInput.Equal(typed) {
			t.Errorf("the last input is %v, want %v (%v)", v.LastInput, typed, err)
		}
		w.provider.setActivity("gc-town-a", runtime.ActivityIdle, func(r *runtime.Reading) { r.LastInput = typed.Add(-time.Hour) })
		w.advance(time.Second)
		if v, _ := w.c.Snapshot("a"); !v.LastInput.Equal(typed) {
			t.Errorf("an older reading took it back to %v", v.LastInput)
		}
	})
}
