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

func TestAPoolFollowsItsCheck(t *testing.T) {
	inFakeCity(t, []string{"w-1", "w-2", "w-3"}, func(t *testing.T, w *fakeCity) {
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
		if _, err := w.c.Explain(t.Context(), "w"); !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), `"w" is a pool; name one of its members: w-1, w-2, w-3`) {
			t.Errorf("the name of the pool gives %v, want its members", err)
		}
		if _, err := w.c.Store.Find("w"); err == nil || !strings.Contains(err.Error(), "is a pool") {
			t.Errorf("a prompt to the pool gives %v, want its members", err)
		}
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
		said := func(x client.Explanation, _ error) string { return x.Reason + strings.Join(x.Warnings, "") }
		if told := w.kinds(""); strings.Count(strings.Join(told, " "), "pool.check_failed") != 1 {
			t.Errorf("reported %v, want one failure of the check", told)
		}
		if got := said(w.c.Explain(t.Context(), "w-3")); !strings.Contains(got, "wants 2; the check fails: the queue does not answer") || !strings.Contains(got, "the pool w fails") {
			t.Errorf("a member that does not run is explained by %q", got)
		}
		set(2, nil)
		w.after(time.Minute)
		if got := said(w.c.Explain(t.Context(), "w-3")); strings.Contains(got, "fails") {
			t.Errorf("the check works again, and it is explained by %q", got)
		}
	})
}

// pooled makes the first n agents the members of one pool that wants all of them.
func (w *fakeCity) pooled(n int) {
	w.edit(func(d *plan.Desired) {
		d.Sessions, d.Pools = nil, []plan.Pool{{Agent: "w", Min: n, Max: n, DrainTimeout: time.Minute}}
		for i := range n {
			s := agentSession(fmt.Sprint("w-", i+1))
			s.Pool, s.Number = "w", i+1
			d.Sessions, d.Pools[0].Members = append(d.Sessions, s), append(d.Pools[0].Members, s.Agent)
		}
	})
}

func TestAFormerMemberIsTakenOverAndEnded(t *testing.T) {
	inFakeCity(t, nil, func(t *testing.T, w *fakeCity) {
		w.pooled(2)
		w.begin()
		w.fake.setActivity("gc-town-w-1", runtime.ActivityIdle)
		w.fake.setActivity("gc-town-w-2", runtime.ActivityIdle)
		w.after(time.Minute)
		w.end()
		w.pooled(1)
		w.begin()
		w.after(5 * time.Minute)
		if lives := w.fake.lives(); len(lives) != 1 || lives["gc-town-w-1"] == "" {
			t.Errorf("%v run, want the member that is still configured", lives)
		}
		if !slices.Contains(w.kinds("gc-town-w-2"), "session.adopted") {
			t.Error("the previous member was not taken over")
		}
	})
}

// TestAWokenMemberRunsBesideTheOthers wakes a member that the pool does not want.
func TestAWokenMemberRunsBesideTheOthers(t *testing.T) {
	inFakeCity(t, nil, func(t *testing.T, w *fakeCity) {
		w.pooled(3)
		w.edit(func(d *plan.Desired) { d.Pools[0].Min, d.Pools[0].Check = 1, "" })
		for i := range 3 {
			w.fake.setActivity(fmt.Sprint("gc-town-w-", i+1), runtime.ActivityIdle)
		}
		w.begin()
		w.after(time.Minute)
		done, err := w.c.Wake(t.Context(), "w-2", client.LifecycleRequest{})
		if err != nil || !done.Changed || done.Detail != "it is being woken" {
			t.Errorf("got %+v, %v", done, err)
		}
		w.after(time.Second)
		if lives := w.fake.lives(); len(lives) != 2 || lives["gc-town-w-2"] == "" {
			t.Errorf("%v run, want the woken one beside the first", lives)
		}
		w.after(40 * time.Second)
		if lives := w.fake.lives(); len(lives) != 2 || lives["gc-town-w-1"] == "" {
			t.Errorf("%v run, and the first was never in the way", lives)
		}
		w.after(10 * time.Minute)
		if lives := w.fake.lives(); len(lives) != 1 {
			t.Errorf("%v run long after it was woken for nothing", lives)
		}
	})
}

// TestAFormerMemberNobodyCanSeeCounts has one that is listed and may not be
// alive: with it there are as many as may be.
func TestAFormerMemberNobodyCanSeeCounts(t *testing.T) {
	inFakeCity(t, nil, func(t *testing.T, w *fakeCity) {
		w.pooled(3)
		w.begin()
		w.after(time.Minute)
		w.end()
		w.fake.vanish("gc-town-w-1")
		w.pooled(2)
		most := 0
		w.fake.set(func(f *fake) {
			f.blind["gc-town-w-3"] = true
			f.onStarted = func(string) { most = max(most, len(f.sessions)) }
		})
		w.begin()
		w.after(3 * time.Second)
		w.fake.set(func(f *fake) { clear(f.blind) })
		w.after(5 * time.Minute)
		if most > 2 {
			t.Errorf("%d members ran at one instant, 2 may", most)
		}
		if n := len(w.fake.lives()); n != 2 {
			t.Errorf("%d members run in the end, want 2", n)
		}
	})
}
