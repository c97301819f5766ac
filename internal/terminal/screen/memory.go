package screen

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"

	"gascity/runtime"
)

// Life is one instance of a session, and the questions that were answered in it.
type Life struct {
	Name     string   // differs between instances
	Answered uint64   // the number of answers
	Last     []string // the RequestID by [Sense] of each of the last answered questions, the newest last; empty if they are not known
}

// maxLast bounds the answered questions that are remembered by name.
const maxLast = 32

// Bind returns the RequestID of a question of this life, for a RequestID by [Sense]. It is
// another one after the question was answered: one that comes again in the same words is
// another question. The answer to another question does not change it, so a dialog that
// stands before that answer is counted is the same afterwards.
func (l Life) Bind(request string) string {
	nth := l.Answered // each may have been answered
	if len(l.Last) > 0 {
		nth = 0
		for i, answered := range l.Last {
			if answered == request {
				nth = l.Answered - uint64(len(l.Last)-1-i) //nolint:gosec // an index
			}
		}
	}
	sum := sha256.Sum256([]byte(l.Name + " " + strconv.FormatUint(nth, 10) + " " + request))
	return hex.EncodeToString(sum[:12])
}

// Add returns the life after another answer, to the question of the RequestID by [Sense].
func (l Life) Add(request string) Life {
	l.Answered++
	l.Last = append(slices.Clone(l.Last[max(0, len(l.Last)-maxLast+1):]), request)
	return l
}

// String names the life between two answers.
func (l Life) String() string { return l.Name + " " + strconv.FormatUint(l.Answered, 10) }

// Memory is what the screens of sessions said when they were looked at last. It is safe
// for concurrent use; the zero value is empty.
type Memory struct {
	mu    sync.Mutex
	seen  map[string]seen   // by session
	shown map[string]*shown // by session
	asked map[string]asked  // by session
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
	delete(m.asked, session)
}
