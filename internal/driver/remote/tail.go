package remote

import (
	"bytes"
	"sync"
)

// Tail keeps the end, at most 4 KiB, of what is written to it: the last words of a program
// that makes a connection. Safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 4 << 10

// Write keeps p, and the end of what came before. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	t.data = t.data[max(0, len(t.data)-tailSize):]
	return len(p), nil
}

// String returns what is kept, without blanks around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.data))
}
