package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/runtime"
)

func TestPoolFollowsItsCheck(t *testing.T) {
	inTestCity(t, []string{"w-1", "w-2", "w-3"}, func(t *testing.T, w *testCity) {
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
			for _, s := range d.Sessions {
				s.Pool = "w"
			}
		})
		w.start()
		w.advance(time.Minute)
		if _, err := w.c.Explain(t.Context(), "w"); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), `"w" is a pool; name one of its members: w-1, w-2, w-3`) {
			t.Errorf("the name of the pool gives %v, want its members", err)
		}
		if _, err := w.c.published.Find("w"); err == nil || !strings.Contains(err.Error(), "is a pool") {
			t.Errorf("a prompt to the pool gives %v, want its members", err)
		}
		for _, n := range []int{1, 3, 2, 0} {
			set(n, nil)
			w.advance(5 * time.Minute)
			if got := len(w.provider.lives()); got != n {
				t.Errorf("%d members run, the check wants %d", got, n)
			}
		}
		set(2, nil)
		w.advance(5 * time.Minute)
		set(0, errors.New("the queue does not answer"))
		before := w.provider.lives()
		w.advance(time.Hour)
		if len(before) != 2 || len(w.provider.lives()) != 2 {
			t.Errorf("%d members ran and %d run after an hour without a check, want 2", len(before), len(w.provider.lives()))
		}
		said := func(x client.Explanation, _ error) string { return x.Reason + strings.Join(x.Warnings, "") }
		if kinds := w.kinds(""); strings.Count(strings.Join(kinds, " "), "pool.check_failed") != 1 {
			t.Errorf("reported %v, want one failure of the check", kinds)
		}
		if got := said(w.c.Explain(t.Context(), "w-3")); !strings.Contains(got, "wants 2; the check fails: the queue does not answer") || !strings.Contains(got, "the pool w fails") {
			t.Errorf("a member that does not run is explained by %q", got)
		}
		set(2, nil)
		w.advance(time.Minute)
		if got := said(w.c.Explain(t.Context(), "w-3")); strings.Contains(got, "fails") {
			t.Errorf("the check works again, and it is explained by %q", got)
		}
	})
}

// setPoolSize makes the first n agents the members of a pool of size n.
func (w *testCity) setPoolSize(n int) {
	w.edit(func(d *plan.Desired) {
		d.Sessions, d.Pools = nil, []plan.Pool{{Agent: "w", Min: n, Max: n, DrainTimeout: time.Minute}}
		for i := range n {
			s := agentSession(fmt.Sprint("w-", i+1))
			s.Pool = "w"
			d.Sessions, d.Pools[0].Members = append(d.Sessions, s), append(d.Pools[0].Members, s.Agent)
		}
	})
}

func TestRemovedPoolMemberIsAdoptedAndStopped(t *testing.T) {
	inTestCity(t, nil, func(t *testing.T, w *testCity) {
		w.setPoolSize(2)
		w.start()
		w.provider.setActivity("gc-town-w-1", runtime.ActivityIdle)
		w.provider.setActivity("gc-town-w-2", runtime.ActivityIdle)
		w.advance(time.Minute)
		w.stop()
		w.setPoolSize(1)
		w.start()
		w.advance(5 * time.Minute)
		if lives := w.provider.lives(); len(lives) != 1 || lives["gc-town-w-1"] == "" {
			t.Errorf("%v run, want the member that is still configured", lives)
		}
		if !slices.Contains(w.kinds("gc-town-w-2"), "session.adopted") {
			t.Error("the previous member was not taken over")
		}
	})
}

// TestWokenMemberRunsBesideTheOthers wakes a member that the pool does not want.
func TestWokenMemberRunsBesideTheOthers(t *testing.T) {
	inTestCity(t, nil, func(t *testing.T, w *testCity) {
		w.setPoolSize(3)
		w.edit(func(d *plan.Desired) { d.Pools[0].Min, d.Pools[0].Check = 1, "" })
		for i := range 3 {
			w.provider.setActivity(fmt.Sprint("gc-town-w-", i+1), runtime.ActivityIdle)
		}
		w.start()
		w.advance(time.Minute)
		done, err := w.c.Wake(t.Context(), "w-2", client.LifecycleRequest{})
		if err != nil || !done.Changed || done.Detail != "it is being woken" {
			t.Errorf("got %+v, %v", done, err)
		}
		w.advance(time.Second)
		if lives := w.provider.lives(); len(lives) != 2 || lives["gc-town-w-2"] == "" {
			t.Errorf("%v run, want the woken one beside the first", lives)
		}
		w.advance(40 * time.Second)
		if lives := w.provider.lives(); len(lives) != 2 || lives["gc-town-w-1"] == "" {
			t.Errorf("%v run, and the first was never in the way", lives)
		}
		w.advance(10 * time.Minute)
		if lives := w.provider.lives(); len(lives) != 1 {
			t.Errorf("%v run long after it was woken for nothing", lives)
		}
	})
}

// TestUnobservableRemovedMemberCounts has a removed member that is listed and of unknown
// liveness. It counts for the size of the pool.
func TestUnobservableRemovedMemberCounts(t *testing.T) {
	inTestCity(t, nil, func(t *testing.T, w *testCity) {
		w.setPoolSize(3)
		w.start()
		w.advance(time.Minute)
		w.stop()
		w.provider.vanish("gc-town-w-1")
		w.setPoolSize(2)
		most := 0
		w.provider.set(func(f *testProvider) {
			f.blind["gc-town-w-3"] = true
			f.onStarted = func(string) { most = max(most, len(f.sessions)) }
		})
		w.start()
		w.advance(3 * time.Second)
		w.provider.set(func(f *testProvider) { clear(f.blind) })
		w.advance(5 * time.Minute)
		if most > 2 {
			t.Errorf("%d members ran at one instant, 2 may", most)
		}
		if n := len(w.provider.lives()); n != 2 {
			t.Errorf("%d members run in the end, want 2", n)
		}
	})
}
