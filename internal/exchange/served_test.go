package exchange_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gascity/internal/session"
	"gascity/runtime"
	"gascity/worker"
	"gascity/worker/workertest"
)

// TestTheContractOfACity is kept by the server over the engine, by the front door.
func TestTheContractOfACity(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var sent sync.WaitGroup
	defer sent.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int64
	results := workertest.CheckServer(t.Context(), workertest.Server{
		Socket: r.path,
		Begin: func(_ context.Context, name string) (workertest.Run, error) {
			env := r.start(name, "instance-of-"+name)
			return workertest.Run{ID: env["GC_RUN_ID"], Token: env["GC_WORKER_TOKEN"]}, nil
		},
		Prompt: func(_ context.Context, name, content string) error {
			r.eventually("the worker is connected", func() bool {
				h, err := r.owner().Health(ctx, r.environment(name)["GC_RUN_ID"])
				return err == nil && h.Status != worker.Degraded
			})
			d := delivery(fmt.Sprint("d", n.Add(1)), "instance-of-"+name, content)
			sent.Go(func() { _, _ = runtime.Deliver(ctx, r.now().provider, name, d) }) // the case is its judge
			return nil
		},
		End: func(_ context.Context, name string) error {
			if err := r.now().provider.Stop(name); err != nil {
				return err
			}
			r.now().engine.Look(name)
			return nil
		},
	})
	for _, result := range results {
		if result.Err != nil {
			t.Errorf("%s: %s\n\t%v", result.ID, result.Sentence, result.Err)
		}
	}
}

// TestTwoWorkersOfOneRunAreTold: they cannot be told apart, and so cannot be refused; that
// they take the stream from each other is known with the session.
func TestTwoWorkersOfOneRunAreTold(t *testing.T) {
	r := newRig(t, nil)
	c := clientOf(r.start("a", "one"))
	defer c.Close()
	r.must(c.Report(r.within(), worker.Started, worker.Detail{}))
	told := func() string { return r.now().engine.Told("a", session.PublicInstance("one")).Detail }
	for i := range 5 {
		if detail := told(); strings.Contains(detail, "two workers") {
			t.Fatalf("after %d streams: %s", i, detail)
		}
		if _, err := r.now().engine.Stream(r.within(), c.RunID, 0); err != nil {
			t.Fatal(err)
		}
	}
	if detail := told(); !strings.Contains(detail, "two workers with one credential") {
		t.Errorf("after five streams in a moment it is known %q", detail)
	}
}
