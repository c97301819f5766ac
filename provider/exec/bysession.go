package exec

import (
	"maps"
	"slices"
	"sync"
)

// bySession stores one value for each session. The zero value is ready to use. It is safe for
// concurrent use.
type bySession[T any] struct {
	mu     sync.Mutex
	values map[string]T
}

// get returns the value of a session; ok is false if there is none.
func (b *bySession[T]) get(name string) (value T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok = b.values[name]
	return value, ok
}

// set stores the value of a session.
func (b *bySession[T]) set(name string, value T) {
	b.update(name, func(T, bool) T { return value })
}

// update stores the result of change, which gets the stored value; ok is false if there is none.
func (b *bySession[T]) update(name string, change func(value T, ok bool) T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.values == nil {
		b.values = map[string]T{}
	}
	value, ok := b.values[name]
	b.values[name] = change(value, ok)
}

// names returns the names of the sessions that have a value, sorted.
func (b *bySession[T]) names() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.values))
}

// remove deletes the value of a session.
func (b *bySession[T]) remove(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.values, name)
}
