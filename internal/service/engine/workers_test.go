package engine_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/service/engine"
)

// A key has one goroutine at a time, a key that is added meanwhile is processed again, and the limit holds.
func TestEachKeyHasOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, calls, most := map[string]bool{}, map[string]int{}, 0
		w := engine.NewWorkers(2, func(_ context.Context, key string) {
			mu.Lock()
			if running[key] {
				t.Errorf("two goroutines process %s", key)
			}
			running[key] = true
			calls[key]++
			most = max(most, len(running))
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			delete(running, key)
			mu.Unlock()
		})
		if !w.IsIdle() {
			t.Error("new workers are not idle")
		}
		w.Add("a")
		if w.IsIdle() {
			t.Error("workers with a key are idle")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { w.Run(ctx) })
		for _, key := range []string{"b", "c", "d"} {
			w.Add(key)
		}
		time.Sleep(500 * time.Millisecond)
		w.Add("a")
		w.Add("a")
		time.Sleep(time.Minute)
		if !w.IsIdle() {
			t.Error("workers without keys are not idle")
		}
		cancel()
		run.Wait()
		if most != 2 || calls["a"] < 1 || calls["a"] > 2 || calls["b"] != 1 || calls["c"] != 1 || calls["d"] != 1 {
			t.Errorf("%d keys were processed at the same time, and the calls are %v", most, calls)
		}
	})
}

// No key is lost that is added while its work ends.
func TestNoKeyIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const adds = 2000
		var mu sync.Mutex
		want, got := 0, 0
		w := engine.NewWorkers(0, func(context.Context, string) {
			mu.Lock()
			defer mu.Unlock()
			got = want
		})
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { w.Run(ctx) })
		for range adds {
			mu.Lock()
			want++
			mu.Unlock()
			w.Add("k")
		}
		synctest.Wait()
		if !w.IsIdle() {
			t.Error("workers at rest are not idle")
		}
		cancel()
		run.Wait()
		if got != adds {
			t.Errorf("the last call saw %d of %d adds", got, adds)
		}
	})
}
