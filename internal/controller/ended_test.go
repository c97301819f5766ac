package controller

import (
	"strings"
	"testing"
	"time"

	"gascity/runtime"
)

// TestExitReportedByTheWorker: the report causes an observation. The remaining process is
// stopped before another instance is started, the reported exit counts, no other agent is stopped, and the
// explanation has the reason.
func TestExitReportedByTheWorker(t *testing.T) {
	inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.advance(time.Minute)
		looks, other := w.provider.number("observe"), w.agent("b").Instance
		before := w.agent("a").Instance
		w.provider.set(func(f *testProvider) { f.onStarted = func(name string) { delete(f.readings, name) } })
		w.provider.setActivity("gc-town-a", runtime.ActivityUnknown, func(r *runtime.Reading) {
			r.Evidence[0].Source = runtime.SourceWorker
			r.Ended = &runtime.End{At: time.Now(), Exit: &runtime.Exit{Code: 3}}
		})
		w.advance(time.Second)
		if w.provider.number("observe") == looks {
			t.Error("its session was not observed")
		}
		if got := w.agent("a"); got.Instance != before || !strings.Contains(got.Reason, "its worker reports that it exited with code 3") {
			t.Errorf("at once it is %+v", got)
		}
		w.provider.set(func(f *testProvider) {
			f.onStop = func(name string) {
				if name != "gc-town-a" {
					t.Errorf("%s was ended for the word of another", name)
				}
			}
			f.stubborn["gc-town-a"] = 2
		})
		starts := len(w.provider.starts())
		w.advance(11 * time.Second)
		if n := len(w.provider.starts()); n != starts {
			t.Errorf("another instance was started while the process lived: %v", w.provider.starts())
		}
		w.advance(time.Minute)
		got := w.agent("a")
		if got.Instance == before || got.State != "running" || len(w.provider.starts()) != starts+1 {
			t.Errorf("after a minute it is %+v; starts %v", got, w.provider.starts()[starts:])
		}
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 1 || r.Former == nil || r.Former.Exit == nil || r.Former.Exit.Code != 3 {
			t.Errorf("its end is kept as %+v of %+v", r.Failures, r.Former)
		}
		if w.agent("b").Instance != other {
			t.Error("another agent was started again")
		}
	})
}

// TestMissingAnswersStopNoAgent: no agent is stopped or started because a worker sends nothing any more,
// a reading fails, or the provider does not answer.
func TestMissingAnswersStopNoAgent(t *testing.T) {
	inTestCity(t, []string{"a"}, func(t *testing.T, w *testCity) {
		w.provider.readings = map[string]runtime.Reading{}
		w.start()
		w.advance(time.Minute)
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy, func(r *runtime.Reading) { r.Evidence[0].Source = runtime.SourceWorker })
		w.advance(time.Minute)
		w.provider.mu.Lock()
		delete(w.provider.readings, "gc-town-a") // no more signals
		w.provider.mu.Unlock()
		before, starts := w.agent("a").Instance, len(w.provider.starts())
		w.provider.set(func(f *testProvider) {
			f.onStop = func(name string) { t.Errorf("%s was stopped because it was not observed", name) }
		})
		w.advance(3 * time.Hour)
		if got := w.agent("a"); got.Instance != before || got.State != "running" || len(w.provider.starts()) != starts {
			t.Errorf("it is %+v; starts %v", got, w.provider.starts()[starts:])
		}
		w.provider.set(func(f *testProvider) { f.onStop = nil })
	})
}
