package engine

import (
	"maps"
	"slices"
	"sync"
)

// Queue is a set of keys that wait to be processed. Any goroutine may add keys; one goroutine waits for them and removes them.
// Adding a key never blocks. A key that is added twice before it is processed is processed once.
type Queue struct {
	woken Signal

	mu   sync.Mutex
	keys map[string]struct{}
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{woken: NewSignal(), keys: map[string]struct{}{}} }

// Add adds the key to the queue and wakes the waiting goroutine.
func (q *Queue) Add(key string) {
	q.mu.Lock()
	q.keys[key] = struct{}{}
	q.mu.Unlock()
	q.Wake()
}

// Wake wakes the waiting goroutine without adding a key.
func (q *Queue) Wake() { q.woken.Wake() }

// Woken returns a channel that receives a value when there is work. Keys that were added before the value was received are
// returned by the next PopAll.
func (q *Queue) Woken() <-chan struct{} { return q.woken }

// PopAll returns all keys, sorted, and removes them from the queue.
func (q *Queue) PopAll() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := slices.Sorted(maps.Keys(q.keys))
	clear(q.keys)
	return keys
}
