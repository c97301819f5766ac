package proc

import (
	"bytes"
	"cmp"
	"sync"
)

// Tail is a writer that keeps the end of what is written, such as the error output of a program. The zero value keeps 4 KiB. It
// is safe for concurrent use.
type Tail struct {
	Most int // number of bytes that are kept; zero means 4 KiB

	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := cmp.Or(t.Most, 4<<10)
	t.kept = append(t.kept, p[max(0, len(p)-most):]...)
	if over := len(t.kept) - most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// Bytes returns a copy of the kept bytes.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept)
}

// String returns the kept text without white space around it.
func (t *Tail) String() string { return string(bytes.TrimSpace(t.Bytes())) }
