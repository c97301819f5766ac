// Package workqueue is a set of keys that wait to be processed: adding one never blocks, and a key that
// is added twice before it is processed is processed once.
package workqueue

import (
	"maps"
	"slices"
	"sync"
)

// Queue is the keys that are due. Anybody may mark them; one goroutine waits and takes them.
type Queue struct {
	woken chan struct{} // holds one value if there is something to do

	mu   sync.Mutex
	keys map[string]struct{}
}

// NewQueue returns an empty set.
func NewQueue() *Queue { return &Queue{woken: make(chan struct{}, 1), keys: map[string]struct{}{}} }

// Add says that the key is due.
func (s *Queue) Add(key string) {
	s.mu.Lock()
	s.keys[key] = struct{}{}
	s.mu.Unlock()
	s.Wake()
}

// Wake wakes who waits, for a reason that has no key.
func (s *Queue) Wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Woken receives once there is something to do; what was marked before it received is in
// the next Take.
func (s *Queue) Woken() <-chan struct{} { return s.woken }

// PopAll returns the keys that are due, sorted, and forgets them.
func (s *Queue) PopAll() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Sorted(maps.Keys(s.keys))
	clear(s.keys)
	return keys
}
