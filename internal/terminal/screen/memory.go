package screen

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"

	"gascity/runtime"
)

// Life identifies one instance of a session, together with the questions that were answered in it.
type Life struct {
	Name     string   // unique for each instance
	Answered uint64   // the number of answers
	Last     []string // the RequestIDs from [Sense] of the last answered questions, the newest last; empty if not known
}

// maxLast is the limit of Life.Last.
const maxLast = 32

// Bind returns the RequestID that users see, for a RequestID from [Sense]. After the question was answered, Bind returns
// another ID, because the same text then is a new question. An answer to another question does not change the ID.
func (l Life) Bind(request string) string {
	nth := l.Answered // without Last any question may have been answered
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

// Add returns the life after one more answer. request is the RequestID from [Sense] of the answered question.
func (l Life) Add(request string) Life {
	l.Answered++
	l.Last = append(slices.Clone(l.Last[max(0, len(l.Last)-maxLast+1):]), request)
	return l
}

// String returns a name that changes with the instance and with each answer.
func (l Life) String() string { return l.Name + " " + strconv.FormatUint(l.Answered, 10) }

// Memory stores the results of the last readings of sessions' screens. It is safe for concurrent use. The zero value is
// empty.
type Memory struct {
	mu    sync.Mutex
	seen  map[string]seen   // by session
	shown map[string]*shown // by session
	asked map[string]asked  // by session
}

// seen is the last evidence of a session's screen.
type seen struct {
	life string
	runtime.Evidence
}

// Recall compares the screen's evidence in the slice with the last reading of the same instance and changes it in place. If
// the activity is the same, it sets Since to the time at which the activity began. If the text of a usage limit is the
// same, it also sets Until to the earlier value, because a text such as "in 5 minutes" is relative to the time of its first
// reading.
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

// Forget removes the data of a session that has ended.
func (m *Memory) Forget(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, session)
	delete(m.shown, session)
	delete(m.asked, session)
}
