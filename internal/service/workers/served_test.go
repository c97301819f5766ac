package workers_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"gascity/runtime"
	"gascity/worker"
	"gascity/worker/workertest"
)

// TestContract runs the contract tests of the worker API against the server with the
// engine.
func TestContract(t *testing.T) {
	t.Parallel()
	r := newEngineTest(t, nil)
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
			sent.Go(func() { _, _ = runtime.Deliver(ctx, r.now().provider, name, d) }) // the case checks the result
			return nil
		},
		End: func(_ context.Context, name string) error {
			if err := r.now().provider.Stop(name); err != nil {
				return err
			}
			r.now().engine.SessionChanged(name)
			return nil
		},
	})
	for _, result := range results {
		if result.Err != nil {
			t.Errorf("%s: %s\n\t%v", result.ID, result.Sentence, result.Err)
		}
	}
}
