package guard

import "sync"

// The bounds of a memo: of each of its two halves, and of what is kept at all.
const (
	maxMemo      = 1024
	maxMemoBytes = 256 << 10
	maxMemoInput = 2 << 10
	maxMemoText  = 4 << 10 // of a request beside its input, and of its verdict
)

// memo keeps verdicts: agents repeat themselves. A verdict depends on its request and on
// the policy alone, and a policy does not change: it has its own memo, and the whole
// request is the key. The zero value is ready, and safe for concurrent use.
type memo struct {
	mu       sync.RWMutex
	new, old map[memoKey]Verdict
	bytes    int // of the inputs in new
}

// memoKey is a request.
type memoKey struct{ tool, input, role, agent, home, dir, now string }

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
		m.keep(req, v)
	}
	return v, ok || aged
}

// keep notes the verdict on a request. What nobody has asked for since the younger half
// was empty goes when that is full.
func (m *memo) keep(req *Request, v Verdict) {
	rest := len(req.Tool) + len(req.Role) + len(req.Agent) + len(req.Home) + len(req.Dir) + len(req.Now) + len(v.Rule) + len(v.Reason) + len(v.Part)
	if len(req.Input) > maxMemoInput || rest > maxMemoText {
		return
	}
	key := memoKey{req.Tool, string(req.Input), req.Role, req.Agent, req.Home, req.Dir, req.Now}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.new == nil || len(m.new) >= maxMemo || m.bytes+len(key.input) > maxMemoBytes {
		m.old, m.new, m.bytes = m.new, map[memoKey]Verdict{}, 0
	}
	m.new[key] = v
	m.bytes += len(key.input)
}
