// Package workqueue keeps what somebody has to look at: marking it never blocks, and looking at
// it twice for two marks is not needed.
package workqueue

import (
	"maps"
	"slices"
	"sync"
)

// Set is the keys that are due. Anybody may mark them; one goroutine waits and takes them.
type Set struct {
	woken chan struct{} // holds one value if there is something to do

	mu   sync.Mutex
	keys map[string]struct{}
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{woken: make(chan struct{}, 1), keys: map[string]struct{}{}} }

// Mark says that the key is due.
func (s *Set) Mark(key string) {
	s.mu.Lock()
	s.keys[key] = struct{}{}
	s.mu.Unlock()
	s.Wake()
}

// Wake wakes who waits, for a reason that has no key.
func (s *Set) Wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Woken receives once there is something to do; what was marked before it received is in
// the next Take.
func (s *Set) Woken() <-chan struct{} { return s.woken }

// Take returns the keys that are due, sorted, and forgets them.
func (s *Set) Take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.Sorted(maps.Keys(s.keys))
	clear(s.keys)
	return keys
}
