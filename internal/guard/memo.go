package guard

import (
	"hash/maphash"
	"sync"
)

// The bounds of a memo: of each of its two halves, and of what is kept at all.
const (
	maxMemo      = 1024
	maxMemoBytes = 256 << 10
	maxMemoInput = 2 << 10
	maxMemoText  = 4 << 10 // of a request beside its input, and of its verdict
)

// memo keeps verdicts: agents repeat themselves. A verdict depends on its request and on
// the policy alone, and a policy does not change: it has its own memo, and the whole
// request is the key. What has been asked once only is not kept: most of it never comes
// again. It is safe for concurrent use.
type memo struct {
	seed maphash.Seed // constant

	mu       sync.RWMutex
	new, old map[memoKey]Verdict
	bytes    int             // of the inputs in new
	asked    [maxMemo]uint64 // hashes of inputs that were asked once, each in its place
}

// memoKey is a request.
type memoKey struct{ tool, input, role, agent, home, dir, now string }

func newMemo() *memo {
	return &memo{seed: maphash.MakeSeed(), new: map[memoKey]Verdict{}, old: map[memoKey]Verdict{}}
}

// find returns the verdict on a request.
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

// add records the verdict on a request that is asked again.
func (m *memo) add(req *Request, v Verdict) {
	rest := len(req.Tool) + len(req.Role) + len(req.Agent) + len(req.Home) + len(req.Dir) + len(req.Now) + len(v.Rule) + len(v.Reason) + len(v.Part)
	if len(req.Input) > maxMemoInput || rest > maxMemoText {
		return
	}
	sum := maphash.Bytes(m.seed, req.Input)
	m.mu.Lock()
	defer m.mu.Unlock()
	if once := &m.asked[sum%maxMemo]; *once != sum {
		*once = sum
		return
	}
	m.addLocked(req, v)
}

// addLocked records a verdict. What was not asked for since the younger half was empty
// goes when that is full.
func (m *memo) addLocked(req *Request, v Verdict) {
	key := memoKey{req.Tool, string(req.Input), req.Role, req.Agent, req.Home, req.Dir, req.Now}
	if len(m.new) >= maxMemo || m.bytes+len(key.input) > maxMemoBytes {
		m.old, m.new, m.bytes = m.new, m.old, 0
		clear(m.new)
	}
	m.new[key] = v
	m.bytes += len(key.input)
}
