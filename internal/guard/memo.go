package guard

import (
	"hash/maphash"
	"sync"
)

// The limits of a memo: for each of its two maps, and for one entry.
const (
	maxMemo      = 1024
	maxMemoBytes = 256 << 10
	maxMemoInput = 2 << 10
	maxMemoText  = 4 << 10 // of the other texts of a request and its verdict
)

// memo caches verdicts, because agents repeat calls. A verdict depends only on the request and the
// policy. Each policy has its own memo, and the whole request is the key. A verdict is stored when
// the input of its request occurs for the second time, because most inputs occur only once. A memo
// is safe for concurrent use.
type memo struct {
	seed maphash.Seed // constant

	mu       sync.RWMutex
	new, old map[memoKey]Verdict
	bytes    int             // total length of the inputs in new
	seen     [maxMemo]uint64 // hashes of inputs that occurred, each at the index hash % maxMemo; a newer one replaces an older one
}

// memoKey is a request as a map key.
type memoKey struct{ tool, input, role, agent, home, dir, now string }

// newMemo returns an empty cache of verdicts.
func newMemo() *memo {
	return &memo{seed: maphash.MakeSeed(), new: map[memoKey]Verdict{}, old: map[memoKey]Verdict{}}
}

// find returns the verdict that was stored for an equal request; ok is false if there is none.
func (m *memo) find(req *Request) (Verdict, bool) {
	if len(req.Input) > maxMemoInput {
		return Verdict{}, false
	}
	m.mu.RLock()
	v, ok := m.new[memoKey{req.Tool, string(req.Input), req.Role, req.Agent, req.Home, req.Dir, req.Now}]
	aged := false
	if !ok {
		v, aged = m.old[memoKey{req.Tool, string(req.Input), req.Role, req.Agent, req.Home, req.Dir, req.Now}]
	}
	m.mu.RUnlock()
	if aged {
		m.mu.Lock()
		m.addLocked(req, v)
		m.mu.Unlock()
	}
	return v, ok || aged
}

// add stores the verdict on a request if a request with the same input has occurred before.
// Otherwise it only remembers the hash of the input.
func (m *memo) add(req *Request, v Verdict) {
	rest := len(req.Tool) + len(req.Role) + len(req.Agent) + len(req.Home) + len(req.Dir) + len(req.Now) + len(v.Rule) + len(v.Reason) + len(v.Part)
	if len(req.Input) > maxMemoInput || rest > maxMemoText {
		return
	}
	sum := maphash.Bytes(m.seed, req.Input)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[sum%maxMemo] != sum {
		m.seen[sum%maxMemo] = sum
		return
	}
	m.addLocked(req, v)
}

// addLocked stores a verdict. When new is full it becomes old, and the entries of the previous old
// are removed.
func (m *memo) addLocked(req *Request, v Verdict) {
	key := memoKey{req.Tool, string(req.Input), req.Role, req.Agent, req.Home, req.Dir, req.Now}
	if len(m.new) >= maxMemo || m.bytes+len(key.input) > maxMemoBytes {
		m.old, m.new, m.bytes = m.new, m.old, 0
		clear(m.new)
	}
	m.new[key] = v
	m.bytes += len(key.input)
}
