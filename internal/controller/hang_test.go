package controller

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// TestSuspendAtAnyMomentStopsNoAgent suspends the host for five minutes at each
// reading of the clock, also in the middle of a decision. No agent is stopped for a
// time in which no agent could act.
func TestSuspendAtAnyMomentStopsNoAgent(t *testing.T) {
	for at := range int64(120) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			inTestCity(t, []string{"a", "b"}, func(t *testing.T, w *testCity) {
				left, offset := atomic.Int64{}, atomic.Int64{}
				left.Store(1 << 60)
				now := func() time.Time {
					if left.Add(-1) == 0 {
						offset.Add(int64(5 * time.Minute))
					}
					return time.Now().Add(time.Duration(offset.Load()))
				}
				w.change = func(o *Options) { o.Now = now }
				w.provider.now = now
				w.edit(func(d *plan.Desired) {
					for i := range d.Sessions {
						d.Sessions[i].IdleAfter = 2 * time.Minute
					}
				})
				for _, name := range []string{"a", "b"} {
					w.provider.setActivity("gc-town-"+name, runtime.ActivityIdle)
				}
				w.start()
				w.advance(time.Minute)
				before := w.provider.snapshotCalls()
				left.Store(at + 1)
				w.provider.works("gc-town-a")
				w.advance(5 * time.Second)
				if n := w.provider.snapshotCalls()["stop"] - before["stop"]; n > 0 {
					t.Errorf("%d sessions were ended within 5 s", n)
				}
			})
		})
	}
}
