package controller

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"gascity/internal/domain/plan"
	"gascity/runtime"
)

// TestAStandstillAnywhereHarmsNobody: the host stands still for five minutes at each
// of the moments at which the controller looks at the clock, also in the middle of a
// decision. No agent is ended for a time in which no agent could act.
func TestAStandstillAnywhereHarmsNobody(t *testing.T) {
	for at := range int64(120) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			inFakeCity(t, []string{"a", "b"}, func(t *testing.T, w *fakeCity) {
				left, offset := atomic.Int64{}, atomic.Int64{}
				left.Store(1 << 60)
				now := func() time.Time {
					if left.Add(-1) == 0 {
						offset.Add(int64(5 * time.Minute))
					}
					return time.Now().Add(time.Duration(offset.Load()))
				}
				w.change = func(o *Options) { o.Now = now }
				w.fake.now = now
				w.edit(func(d *plan.Desired) {
					for i := range d.Sessions {
						d.Sessions[i].IdleAfter = 2 * time.Minute
					}
				})
				for _, name := range []string{"a", "b"} {
					w.fake.setActivity("gc-town-"+name, runtime.ActivityIdle)
				}
				w.begin()
				w.after(time.Minute)
				before := w.fake.snapshotCalls()
				left.Store(at + 1)
				w.fake.works("gc-town-a")
				w.after(5 * time.Second)
				if n := w.fake.snapshotCalls()["stop"] - before["stop"]; n > 0 {
					t.Errorf("%d sessions were ended within 5 s", n)
				}
			})
		})
	}
}
