package controller

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// leaps makes the town use a clock that can be moved.
func (w *fakeCity) leaps(monotonic bool) func(time.Duration) {
	var offset atomic.Int64
	now := func() time.Time {
		t := time.Now().Add(time.Duration(offset.Load()))
		if !monotonic {
			t = t.Round(0)
		}
		return t
	}
	w.change = func(o *Options) { o.Now = now }
	w.fake.now = now
	return func(d time.Duration) { offset.Add(int64(d)) }
}

// TestASuspendOfTheHostHarmsNobody is R21's proof: eight hours pass at once, with
// idle times, a maximum age, a drain and a start under way.
func TestASuspendOfTheHostHarmsNobody(t *testing.T) {
	for _, monotonic := range []bool{true, false} {
		t.Run(fmt.Sprint("monotonic: ", monotonic), func(t *testing.T) {
			inFakeCity(t, []string{"a", "idle", "old", "starting"}, func(t *testing.T, w *fakeCity) {
				leap := w.leaps(monotonic)
				w.edit(func(d *plan.Desired) {
					d.Sessions[1].IdleAfter, d.Sessions[2].MaxAge = time.Hour, 2*time.Hour
				})
				w.fake.readings = map[string]runtime.Reading{}
				w.fake.onStart = func(ctx context.Context, name string) error {
					if name != "gc-town-starting" {
						return nil
					}
					select {
					case <-time.After(15 * time.Second):
						return nil
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
				w.begin()
				w.fake.setActivity("gc-town-idle", runtime.ActivityIdle)
				mustDo(t, w.c.Drain, client.LifecycleRequest{})
				w.after(10 * time.Second)
				before, stops := w.fake.lives(), w.fake.number("stop")
				leap(8 * time.Hour)
				w.after(31 * time.Second) // the first tick comes, and the start ends
				kinds := w.allKinds()
				if !slices.Contains(kinds, "host.resumed") {
					t.Errorf("the suspend was not reported: %v", kinds)
				}
				for _, bad := range []string{"session.lost", "session.exited", "session.start_failed", "session.stopping", "controller.degraded"} {
					if slices.Contains(kinds, bad) {
						t.Errorf("the suspend led to %s", bad)
					}
				}
				if w.fake.number("stop") != stops {
					t.Errorf("%d stops after a suspend", w.fake.number("stop")-stops)
				}
				after := w.fake.lives()
				delete(after, "gc-town-starting")
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("other instances run:\n%s", diff)
				}
				w.want("starting", client.StateRunning)
				w.want("a", client.StateDraining)
				w.after(10 * time.Minute) // then everything as usual
				w.want("a", client.StateAsleep)
				w.want("idle", client.StateRunning)
				w.after(time.Hour)
				w.want("idle", client.StateAsleep)
			})
		})
	}
}

func (w *fakeCity) allKinds() []string {
	events, _, _ := w.log.After(0)
	var out []string
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

func TestAClockThatIsSetBackStopsNothing(t *testing.T) {
	inFakeCity(t, []string{"a", "failing"}, func(t *testing.T, w *fakeCity) {
		leap := w.leaps(false)
		w.begin()
		before := w.fake.lives()
		w.fake.end("gc-town-failing", 1)
		w.after(100 * time.Millisecond)
		leap(-8 * time.Hour)
		w.after(time.Minute)
		if kinds := w.allKinds(); !slices.Contains(kinds, "clock.jumped") {
			t.Errorf("the clock change was not reported: %v", kinds)
		}
		if w.fake.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("a healthy agent was replaced")
		}
		w.want("failing", client.StateRunning) // its pause did not grow by eight hours
		w.fake.setActivity("gc-town-a", runtime.ActivityBusy)
	})
}

// TestAStandstillIsNotMadeUpFor lets five minutes pass in which the controller stood
// still: it looks at everything once, and not once for each patrol that it missed.
func TestAStandstillIsNotMadeUpFor(t *testing.T) {
	const agents = 100
	inFakeCity(t, names(agents), func(t *testing.T, w *fakeCity) {
		leap := w.leaps(true)
		w.edit(func(d *plan.Desired) {
			for i := range d.Sessions {
				d.Sessions[i].IdleAfter = 2 * time.Minute
			}
		})
		for _, name := range names(agents) {
			w.fake.setActivity("gc-town-"+name, runtime.ActivityIdle)
		}
		w.begin()
		w.after(time.Minute)
		before := w.fake.snapshotCalls()
		leap(5 * time.Minute)
		for range 40 { // what happened meanwhile
			w.fake.works("gc-town-a000")
		}
		w.after(10 * time.Second)
		after := w.fake.snapshotCalls()
		bounds := map[string]int{"observe": 2 * agents, "sense": 2 * agents, "list": 2, "start": 0, "stop": 0, "interrupt": 0}
		for call, most := range bounds {
			if n := after[call] - before[call]; n > most {
				t.Errorf("%d times %s in the 10 s after it, want at most %d", n, call, most)
			}
		}
	})
}
