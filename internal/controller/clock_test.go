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

// useMovableClock gives the city a clock that the returned function moves.
func (w *testCity) useMovableClock(monotonic bool) func(time.Duration) {
	var offset atomic.Int64
	now := func() time.Time {
		t := time.Now().Add(time.Duration(offset.Load()))
		if !monotonic {
			t = t.Round(0)
		}
		return t
	}
	w.change = func(o *Options) { o.Now = now }
	w.provider.now = now
	return func(d time.Duration) { offset.Add(int64(d)) }
}

// TestSuspendOfTheHostStopsNoAgent lets eight hours pass at once, with
// idle times, a maximum age, a drain and a running start.
func TestSuspendOfTheHostStopsNoAgent(t *testing.T) {
	for _, monotonic := range []bool{true, false} {
		t.Run(fmt.Sprint("monotonic: ", monotonic), func(t *testing.T) {
			inTestCity(t, []string{"a", "idle", "old", "starting"}, func(t *testing.T, w *testCity) {
				leap := w.useMovableClock(monotonic)
				w.edit(func(d *plan.Desired) {
					d.Sessions[1].IdleAfter, d.Sessions[2].MaxAge = time.Hour, 2*time.Hour
				})
				w.provider.readings = map[string]runtime.Reading{}
				w.provider.onStart = func(ctx context.Context, name string) error {
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
				w.start()
				w.provider.setActivity("gc-town-idle", runtime.ActivityIdle)
				mustDo(t, w.c.Drain, client.LifecycleRequest{})
				w.advance(10 * time.Second)
				before, stops := w.provider.lives(), w.provider.number("stop")
				leap(8 * time.Hour)
				w.advance(31 * time.Second) // until the first patrol, and the end of the start
				kinds := w.allKinds()
				if !slices.Contains(kinds, "host.resumed") {
					t.Errorf("the suspend was not reported: %v", kinds)
				}
				for _, bad := range []string{"session.lost", "session.exited", "session.start_failed", "session.stopping", "controller.degraded"} {
					if slices.Contains(kinds, bad) {
						t.Errorf("the suspend led to %s", bad)
					}
				}
				if w.provider.number("stop") != stops {
					t.Errorf("%d stops after a suspend", w.provider.number("stop")-stops)
				}
				after := w.provider.lives()
				delete(after, "gc-town-starting")
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("other instances run:\n%s", diff)
				}
				w.want("starting", client.StateRunning)
				w.want("a", client.StateDraining)
				w.advance(10 * time.Minute) // without another suspend
				w.want("a", client.StateAsleep)
				w.want("idle", client.StateRunning)
				w.advance(time.Hour)
				w.want("idle", client.StateAsleep)
			})
		})
	}
}

func (w *testCity) allKinds() []string {
	events, _, _ := w.log.After(w.t.Context(), 0)
	var out []string
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

func TestClockSetBackStopsNoAgent(t *testing.T) {
	inTestCity(t, []string{"a", "failing"}, func(t *testing.T, w *testCity) {
		leap := w.useMovableClock(false)
		w.start()
		before := w.provider.lives()
		w.provider.end("gc-town-failing", 1)
		w.advance(100 * time.Millisecond)
		leap(-8 * time.Hour)
		w.advance(time.Minute)
		if kinds := w.allKinds(); !slices.Contains(kinds, "clock.jumped") {
			t.Errorf("the clock change was not reported: %v", kinds)
		}
		if w.provider.lives()["gc-town-a"] != before["gc-town-a"] {
			t.Error("a healthy agent was replaced")
		}
		w.want("failing", client.StateRunning) // its pause did not grow by eight hours
		w.provider.setActivity("gc-town-a", runtime.ActivityBusy)
	})
}

// TestMissedPatrolsAreNotRepeated suspends the controller for five minutes. Then it observes
// each session once, and not once for each missed patrol.
func TestMissedPatrolsAreNotRepeated(t *testing.T) {
	const agents = 100
	inTestCity(t, names(agents), func(t *testing.T, w *testCity) {
		leap := w.useMovableClock(true)
		w.edit(func(d *plan.Desired) {
			for i := range d.Sessions {
				d.Sessions[i].IdleAfter = 2 * time.Minute
			}
		})
		for _, name := range names(agents) {
			w.provider.setActivity("gc-town-"+name, runtime.ActivityIdle)
		}
		w.start()
		w.advance(time.Minute)
		before := w.provider.snapshotCalls()
		leap(5 * time.Minute)
		for range 40 { // the events of these minutes
			w.provider.works("gc-town-a000")
		}
		w.advance(10 * time.Second)
		after := w.provider.snapshotCalls()
		bounds := map[string]int{"observe": 2 * agents, "sense": 2 * agents, "list": 2, "start": 0, "stop": 0, "interrupt": 0}
		for call, most := range bounds {
			if n := after[call] - before[call]; n > most {
				t.Errorf("%d times %s in the 10 s after it, want at most %d", n, call, most)
			}
		}
	})
}
