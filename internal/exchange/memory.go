package exchange

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"gascity/internal/exchange/briefing"
	"gascity/internal/exchange/pressure"
	"gascity/internal/run"
	"gascity/runtime"
	"gascity/worker"
)

// MetaMemory is the note in which a session keeps what a later controller must know
// of its run. It holds no secret.
const MetaMemory = "GC_WORKER_RUN"

// memory is that.
type memory struct {
	Run        string               `json:"run"` // of whom: the note of a session may outlive its run
	Generation int                  `json:"generation,omitempty"`
	Told       int                  `json:"told,omitempty"`
	Streamed   bool                 `json:"streamed,omitempty"`
	Life       run.Life             `json:"life"`
	Sent       []string             `json:"sent,omitempty"`
	Given      briefing.Record      `json:"given,omitzero"`
	Asked      []worker.Interaction `json:"asked,omitempty"`
	Proved     bool                 `json:"proved,omitempty"`
	Bypass     string               `json:"bypass,omitempty"`
	Lock       pressure.Lock        `json:"lock,omitzero"`
}

const (
	// maxNote is the most bytes of a note; the contract of providers allows 64 KiB.
	maxNote = 60 << 10
	// maxSent is how many prompts by the stream are remembered: they go one by one.
	maxSent = 16
)

// noteLocked is what is to be remembered. What is asked gives way if it is too much:
// first what is to run, then the oldest.
func (a *active) noteLocked() (string, error) {
	m := memory{a.id, a.generation, a.told, a.streamed, a.life, a.sent, a.given, nil, a.proved, a.bypass, a.lock}
	for _, q := range a.asked {
		if !q.guard {
			m.Asked = append(m.Asked, q.Interaction)
		}
	}
	for {
		text, err := json.Marshal(m)
		if err != nil || len(text) <= maxNote || len(m.Asked) == 0 {
			return string(text), err
		}
		if at := slices.IndexFunc(m.Asked, func(q worker.Interaction) bool { return len(q.Input) > 0 }); at >= 0 {
			m.Asked[at].Input = nil
			continue
		}
		m.Asked = m.Asked[1:]
	}
}

// remember keeps the run's memory with its session. When it returns without an error
// a later controller knows at least what was so when it was called.
func (a *active) remember(p runtime.Provider) error {
	if p == nil {
		return errNoPlace
	}
	a.noting.Lock()
	defer a.noting.Unlock()
	a.mu.Lock()
	text, err := a.noteLocked()
	a.mu.Unlock()
	if err != nil || text == a.noted {
		return err
	}
	if err := p.SetMeta(a.session, MetaMemory, text); err != nil {
		return err
	}
	a.noted = text
	return nil
}

// keep remembers what a worker told. Should that fail the report has happened all
// the same.
func (e *Engine) keep(a *active) {
	v, err := e.opts.City.View(a.session)
	if err == nil {
		err = a.remember(v.Provider)
	}
	if err != nil {
		e.opts.Logger.Debug("what a worker told is not kept with its session", "session", a.session, "error", err)
	}
}

// recalledBy reads the memory of a run; the zero memory if there is none.
func recalledBy(p runtime.Provider, session, id string) (memory, error) {
	if p == nil {
		return memory{}, errNoPlace
	}
	text, err := p.GetMeta(session, MetaMemory)
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return memory{}, nil
	}
	var m memory
	if err != nil || text == "" {
		return memory{}, err
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.Run != id {
		return memory{}, nil //nolint:nilerr // another version's, or another run's: this one has no past
	}
	return m, nil
}

// recall learns what an earlier controller knew, once. What was told meanwhile stays.
func (a *active) recall(p runtime.Provider) error {
	a.mu.Lock()
	known := a.recalled
	a.mu.Unlock()
	if known {
		return nil
	}
	m, err := recalledBy(p, a.session, a.id)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recalled {
		return nil
	}
	a.recalled = true
	a.life = a.life.With(m.Life, a.engine.opts.Now())
	a.sent = append(m.Sent, a.sent...)
	if m.Run == "" { // it has not spoken yet
		m.Given.Owed = a.engine.opts.Sections != nil
	}
	a.given = m.Given.With(a.given)
	a.proved, a.bypass = a.proved || m.Proved, cmp.Or(a.bypass, m.Bypass)
	if !a.lock.Held() {
		a.lock, a.compaction = m.Lock, compactionOf(m.Lock)
	}
	a.generation, a.told = max(a.generation, m.Generation), max(a.told, m.Told)
	if m.Streamed && !a.streamed {
		a.streamed, a.leftAt = true, a.engine.opts.Now()
	}
	for _, q := range m.Asked {
		if a.askedLocked(q.ID) < 0 && !slices.Contains(a.answered, q.ID) {
			a.raiseLocked(q)
		}
	}
	a.changeLocked()
	return nil
}

// generations are the newest token's and the newest that the worker has.
func (a *active) generations() (newest, told int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.generation, a.told
}
