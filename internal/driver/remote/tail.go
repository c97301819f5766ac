package remote

import (
	"bytes"
	"sync"
)

// Tail keeps the end, at most 4 KiB, of what is written to it: the last words of a program
// that makes a connection. Safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailKept = 4 << 10

// Write keeps p, and the end of what came before. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-tailKept):]
	return len(p), nil
}

// String returns what is kept, without blanks around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
