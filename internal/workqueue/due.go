// Package workqueue implements a set of keys that wait to be processed. Adding a key never blocks. A key that is added twice
// before it is processed is processed once.
package workqueue

import (
	"maps"
	"slices"
	"sync"
)

// Queue is a set of keys. Any goroutine may add keys; one goroutine waits for them and removes them.
type Queue struct {
	woken chan struct{} // holds one value if there is work

	mu   sync.Mutex
	keys map[string]struct{}
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{woken: make(chan struct{}, 1), keys: map[string]struct{}{}} }

// Add adds the key to the queue and wakes the waiting goroutine.
func (s *Queue) Add(key string) {
	s.mu.Lock()
	s.keys[key] = struct{}{}
	s.mu.Unlock()
	s.Wake()
}

// Wake wakes the waiting goroutine without adding a key.
func (s *Queue) Wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Woken returns a channel that receives a value when there is work. Keys that were added before the value was received are
// returned by the next PopAll.
func (s *Queue) Woken() <-chan struct{} { return s.woken }

// PopAll returns all keys, sorted, and removes them from the queue.
func (s *Queue) PopAll() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Sorted(maps.Keys(s.keys))
	clear(s.keys)
	return keys
}
