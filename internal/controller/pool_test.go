package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gascity/internal/plan"
)

func TestAPoolFollowsItsCheck(t *testing.T) {
	inTown(t, []string{"w-1", "w-2", "w-3"}, func(t *testing.T, w *town) {
		var mu sync.Mutex
		wanted, fault := 1, error(nil)
		w.change = func(o *Options) {
			o.Count = func(context.Context, *plan.Pool) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return wanted, fault
			}
		}
		set := func(n int, err error) { mu.Lock(); defer mu.Unlock(); wanted, fault = n, err }
		w.edit(func(d *plan.Desired) {
			d.Pools = []plan.Pool{{Agent: "w", Members: []string{"w-1", "w-2", "w-3"}, Max: 3, Check: "count", DrainTimeout: time.Minute}}
			for i := range d.Sessions {
				d.Sessions[i].Pool, d.Sessions[i].Number = "w", i+1
			}
		})
		w.begin()
		w.after(time.Minute)
		for _, n := range []int{1, 3, 2, 0} {
			set(n, nil)
			w.after(5 * time.Minute)
			if got := len(w.fake.lives()); got != n {
				t.Errorf("%d members run, the check wants %d", got, n)
			}
		}
		set(2, nil)
		w.after(5 * time.Minute)
		set(0, errors.New("the queue does not answer"))
		before := w.fake.lives()
		w.after(time.Hour)
		if len(before) != 2 || len(w.fake.lives()) != 2 {
			t.Errorf("%d members ran and %d run after an hour without a check, want 2", len(before), len(w.fake.lives()))
		}
	})
}
