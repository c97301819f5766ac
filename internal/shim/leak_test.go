package shim

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// A fleet that lives for weeks keeps nothing of sessions that are gone, by
// whichever process they ended.
func TestFleetKeepsNothingOfTheDead(t *testing.T) {
	f := testFleet(t)
	other := openFleet(t, f.opts.Dir)
	defer other.Close()
	files := func() int {
		entries, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	round := func(n int) {
		var wg sync.WaitGroup
		for i := range 10 {
			name := fmt.Sprintf("s%d-%d", n, i)
			wg.Go(func() {
				start(t, f, spec(name, "cat"))
				if _, err := f.Running(t.Context()); err != nil {
					t.Error(err)
				}
				stopper := f
				if i%2 == 0 {
					stopper = other
				}
				if _, err := stopper.Stop(t.Context(), name, nil, 0); err != nil {
					t.Error(err)
				}
				if s, err := f.Observe(t.Context(), name); err != nil || s.Record != nil {
					t.Errorf("%s is still %+v, %v", name, s, err)
				}
			})
		}
		wg.Wait()
	}
	round(0)
	before := files()
	for n := range 5 {
		round(n + 1)
	}
	if after := files(); after > before+5 {
		t.Errorf("%d open files became %d", before, after)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.clients) > 0 {
		t.Errorf("%d clients of sessions that are gone are kept", len(f.clients))
	}
	waitFor(t, "shims that have ended to be collected", func() bool {
		f.children.mu.Lock()
		defer f.children.mu.Unlock()
		return len(f.children.pids) == 0
	})
}
