package exec

import "sync"

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
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.values == nil {
		b.values = map[string]T{}
	}
	b.values[name] = value
}

// remove deletes the value of a session.
func (b *bySession[T]) remove(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.values, name)
}
