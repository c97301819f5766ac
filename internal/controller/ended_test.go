package controller

import (
	"strings"
	"testing"
	"time"

	"gascity/runtime"
)

// TestAnAgentThatHasEndedByItsOwnWord: its place is looked at then. What is left of it is
// cleared away before another one is started, how it ended counts as its end, no other
// agent is touched, and an explanation says why.
func TestAnAgentThatHasEndedByItsOwnWord(t *testing.T) {
	inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.after(time.Minute)
		looks, other := w.fake.number("observe"), w.agent("b").Instance
		before := w.agent("a").Instance
		w.fake.set(func(f *fake) { f.onStarted = func(name string) { delete(f.readings, name) } })
		w.fake.setActivity("gc-town-a", runtime.ActivityUnknown, func(r *runtime.Reading) {
			r.Evidence[0].Source = runtime.SourceWorker
			r.Ended = &runtime.End{At: time.Now(), Exit: &runtime.Exit{Code: 3}}
		})
		w.after(time.Second)
		if w.fake.number("observe") == looks {
			t.Error("its place was not looked at")
		}
		if got := w.agent("a"); got.Instance != before || !strings.Contains(got.Reason, "its worker reports that it exited with code 3") {
			t.Errorf("at once it is %+v", got)
		}
		w.fake.set(func(f *fake) {
			f.onStop = func(name string) {
				if name != "gc-town-a" {
					t.Errorf("%s was ended for the word of another", name)
				}
			}
			f.stubborn["gc-town-a"] = 2
		})
		starts := len(w.fake.starts())
		w.after(11 * time.Second)
		if n := len(w.fake.starts()); n != starts {
			t.Errorf("another instance was started while the process lived: %v", w.fake.starts())
		}
		w.after(time.Minute)
		got := w.agent("a")
		if got.Instance == before || got.State != "running" || len(w.fake.starts()) != starts+1 {
			t.Errorf("after a minute it is %+v; starts %v", got, w.fake.starts()[starts:])
		}
		if r := w.records.record(t, "gc-town-a"); len(r.Failures) != 1 || r.Former == nil || r.Former.Exit == nil || r.Former.Exit.Code != 3 {
			t.Errorf("its end is kept as %+v of %+v", r.Failures, r.Former)
		}
		if w.agent("b").Instance != other {
			t.Error("another agent was started again")
		}
	})
}

// TestAMissedAnswerEndsNothing: a worker that says nothing any more, a reading that fails
// and a place that does not answer are evidence, and no agent is ended or started for it.
func TestAMissedAnswerEndsNothing(t *testing.T) {
	inFakeCity(t, []string{"a"}, func(t *testing.T, w *fakeCity) {
		w.fake.readings = map[string]runtime.Reading{}
		w.begin()
		w.after(time.Minute)
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy, func(r *runtime.Reading) { r.Evidence[0].Source = runtime.SourceWorker })
		w.after(time.Minute)
		w.fake.mu.Lock()
		delete(w.fake.readings, "gc-town-a") // silence
		w.fake.mu.Unlock()
		before, starts := w.agent("a").Instance, len(w.fake.starts())
		w.fake.set(func(f *fake) {
			f.onStop = func(name string) { t.Errorf("%s was stopped because it was not observed", name) }
		})
		w.after(3 * time.Hour)
		if got := w.agent("a"); got.Instance != before || got.State != "running" || len(w.fake.starts()) != starts {
			t.Errorf("it is %+v; starts %v", got, w.fake.starts()[starts:])
		}
		w.fake.set(func(f *fake) { f.onStop = nil })
	})
}
