package guard

import "sync"

// The bounds of a memo: of each of its two halves, and of what is kept at all.
const (
	maxMemo      = 1024
	maxMemoBytes = 256 << 10
	maxMemoInput = 2 << 10
	maxMemoParts = 32
)

// memo keeps how inputs were read: agents repeat themselves. It holds no decisions:
// what an input is read as depends on its text and on the folders of the request
// alone, and these are its key. The zero value is ready, and safe for concurrent use.
type memo struct {
	mu       sync.RWMutex
	new, old map[memoKey]reading
	bytes    int // of the inputs in new
}

type memoKey struct{ home, dir, now, input string }

// reading is what an input was read as. Nobody changes it.
type reading struct {
	subjects []subject
	err      error
}

// find returns how an input was read.
func (m *memo) find(req *Request) (reading, bool) {
	if len(req.Input) > maxMemoInput {
		return reading{}, false
	}
	m.mu.RLock()
	r, ok := m.new[memoKey{req.Home, req.Dir, req.Now, string(req.Input)}]
	aged := false
	if !ok {
		r, aged = m.old[memoKey{req.Home, req.Dir, req.Now, string(req.Input)}]
	}
	m.mu.RUnlock()
	if aged {
		m.keep(req, r)
	}
	return r, ok || aged
}

// keep notes how an input was read. What nobody has asked for since the younger half
// was empty goes when that is full.
func (m *memo) keep(req *Request, r reading) {
	if len(req.Input) > maxMemoInput || len(r.subjects) > maxMemoParts {
		return
	}
	key := memoKey{req.Home, req.Dir, req.Now, string(req.Input)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.new == nil || len(m.new) >= maxMemo || m.bytes+len(key.input) > maxMemoBytes {
		m.old, m.new, m.bytes = m.new, map[memoKey]reading{}, 0
	}
	m.new[key] = r
	m.bytes += len(key.input)
}
