package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"gascity/internal/console"
	"gascity/internal/shim"
	"gascity/runtime"
)

// Sense keeps the contract of runtime.Sensor. What a program told its terminal counts for
// as long as it is in the foreground; of the screen it is only known how long it has said
// the same to this process, or at least: since the last output.
func (s *Sessions) Sense(ctx context.Context, name string) (runtime.Reading, error) {
	const op = "sense"
	sight, err := s.live(ctx, op, name)
	if err != nil {
		s.memory.forget(name)
		return runtime.Reading{}, err
	}
	process, err := s.process(ctx, &sight)
	if err != nil {
		s.memory.forget(name)
		return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: err}
	}
	l := s.liveOf(sight)
	reading := runtime.Reading{At: time.Now()}
	typed := sight.State.LastHuman
	if l.Terminal != nil {
		f, err := console.Whole(ctx, l.Terminal)
		switch {
		case err != nil:
			return runtime.Reading{}, ErrorOf(op, name, err)
		case f.Exited:
			return runtime.Reading{}, &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
		}
		reading, typed = console.Sense(f, l.Rules, time.Now()), f.LastHuman
		s.memory.recall(name, l.incarnation, reading.Evidence)
	}
	process.At = reading.At
	reading.Evidence = append(reading.Evidence, process)
	reading.Instance, reading.LastInput = sight.Token, typed
	if p := reading.Pending; p != nil {
		p.RequestID = l.bind(p.RequestID)
	}
	return reading, nil
}

// process is what the agent's process tells: nothing of what it does, but that it is
// there. [runtime.ErrSessionNotFound] if it has ended, although a shell around it may live.
func (s *Sessions) process(ctx context.Context, sight *shim.Sight) (runtime.Evidence, error) {
	s.identified(ctx, sight)
	e := runtime.Evidence{
		Source: runtime.SourceProcess, Activity: runtime.ActivityUnknown, Since: sight.Record.StartedAt,
		Detail: fmt.Sprintf("process %d lives", sight.State.Agent.PID),
	}
	switch agentLife(*sight) {
	case runtime.Dead:
		return e, runtime.ErrSessionNotFound
	case runtime.Unknown:
		e.Detail = "it cannot be known whether the agent's process lives"
	case runtime.Alive:
	}
	return e, nil
}

// incarnation names one life of a session and what was answered in it so far.
func incarnation(sight shim.Sight) string {
	return fmt.Sprintf("%s %d %d", sight.Token, sight.Record.StartedAt.UnixNano(), sight.State.Answered)
}

// bind makes the name of a question one of this incarnation alone, and of this asking: when
// the question comes again after an answer, it has another name.
func (l Live) bind(request string) string {
	sum := sha256.Sum256([]byte(l.incarnation + " " + request))
	return hex.EncodeToString(sum[:12])
}

// memory is what the screens said when they were looked at last. It is safe for concurrent
// use; the zero value is empty.
type memory struct {
	mu   sync.Mutex
	seen map[string]seen // by session
}

type seen struct {
	life string
	runtime.Evidence
}

// recall gives evidence of the screen that says the same as before its age, and the end of
// a limit that was told in relative words.
func (m *memory) recall(name, life string, evidence []runtime.Evidence) {
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
		was, ok := m.seen[name]
		if ok && was.life == life && was.Activity == e.Activity && was.Kind == e.Kind {
			e.Since = was.Since
			if e.Activity == runtime.ActivityLimited && was.Detail == e.Detail {
				e.Until = was.Until
			}
		}
		m.seen[name] = seen{life, *e}
	}
}

func (m *memory) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, name)
}
