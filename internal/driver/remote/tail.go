package remote

import (
	"bytes"
	"sync"
)

// Tail stores the last 4 KiB that are written to it, such as the error output of a program that makes a connection. It is safe
// for concurrent use.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 4 << 10

// Write appends p and drops the oldest bytes beyond 4 KiB. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	t.data = t.data[max(0, len(t.data)-tailSize):]
	return len(p), nil
}

// String returns the stored text without white space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.data))
}
