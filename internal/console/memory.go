package console

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"gascity/runtime"
)

// Bind makes the name of a question by [Sense] one of a session's life alone. life names
// that: another instance has another one, and so has the same after an answer, so that
// a question that comes again is another question.
func Bind(life, request string) string {
	sum := sha256.Sum256([]byte(life + " " + request))
	return hex.EncodeToString(sum[:12])
}

// Memory is what the screens of sessions said when they were looked at last. It is safe
// for concurrent use; the zero value is empty.
type Memory struct {
	mu    sync.Mutex
	seen  map[string]seen   // by session
	shown map[string]*shown // by session
}

type seen struct {
	life string
	runtime.Evidence
}

// Recall gives evidence of the screen that says the same as before, in the same life, its
// age, and the end of a limit that was given in relative words.
func (m *Memory) Recall(session, life string, evidence []runtime.Evidence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[string]seen{}
	}
	for i := range evidence {
		e := &evidence[i]
		if e.Source != runtime.SourceScreen {
			continue
		}
		was, ok := m.seen[session]
		if ok && was.life == life && was.Activity == e.Activity && was.Kind == e.Kind {
			e.Since = was.Since
			if e.Activity == runtime.ActivityLimited && was.Detail == e.Detail {
				e.Until = was.Until
			}
		}
		m.seen[session] = seen{life, *e}
	}
}

// Forget forgets a session that has ended.
func (m *Memory) Forget(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, session)
	delete(m.shown, session)
}
