package engine

import (
	"context"
	"sync"
)

// Workers processes keys, each key by at most one goroutine at a time. A key that is added while it is processed is processed
// again afterwards.
type Workers struct {
	work  func(ctx context.Context, key string)
	limit int
	woken Signal

	mu      sync.Mutex
	added   map[string]bool // keys to process
	running map[string]bool // keys that have a goroutine
}

// NewWorkers returns workers that call work for each key, with at most limit calls at the same time; zero: no limit. They do
// nothing until Run is called.
func NewWorkers(limit int, work func(ctx context.Context, key string)) *Workers {
	return &Workers{work: work, limit: limit, woken: NewSignal(), added: map[string]bool{}, running: map[string]bool{}}
}

// Add queues the key to be processed. It never blocks.
func (w *Workers) Add(key string) {
	w.mu.Lock()
	w.added[key] = true
	w.mu.Unlock()
	w.woken.Wake()
}

// IsIdle reports whether no key is being processed or waits for it.
func (w *Workers) IsIdle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.added)+len(w.running) == 0
}

// Run processes keys until ctx ends. It returns when all calls of work have returned. It must be called once.
func (w *Workers) Run(ctx context.Context) {
	var jobs sync.WaitGroup
	defer jobs.Wait()
	var slots chan struct{}
	if w.limit > 0 {
		slots = make(chan struct{}, w.limit)
	}
	for {
		for _, key := range w.begin() {
			jobs.Go(func() {
				defer w.finish(key)
				if slots != nil {
					select {
					case slots <- struct{}{}:
						defer func() { <-slots }()
					case <-ctx.Done():
						return
					}
				}
				w.work(ctx, key)
			})
		}
		select {
		case <-w.woken:
		case <-ctx.Done():
			return
		}
	}
}

// begin returns the queued keys that no goroutine processes now, and marks them as being processed. The caller must start a
// goroutine for each.
func (w *Workers) begin() (keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.added {
		if !w.running[key] {
			delete(w.added, key)
			w.running[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// finish records that a key was processed. If it was added again meanwhile, it is processed again.
func (w *Workers) finish(key string) {
	w.mu.Lock()
	delete(w.running, key)
	again := w.added[key]
	w.mu.Unlock()
	if again {
		w.woken.Wake()
	}
}
