package workers

import (
	"cmp"
	"slices"

	"gascity/internal/service/workers/recovery"
	"gascity/runtime"
)

// encodeMemoryLocked returns what is to be remembered.
func (a *liveRun) encodeMemoryLocked() (string, error) {
	m := recovery.Memory{
		Run: a.id, Generation: a.generation, AckedGeneration: a.ackedGeneration, Streamed: a.streamed, Life: a.life, Sent: a.sent, ContextLog: a.contextLog,
		Proved: a.proved, Bypass: a.bypass, Lock: a.lock, Command: a.command.began,
	}
	for _, q := range a.asked {
		if !q.guard {
			m.Asked = append(m.Asked, q.Interaction)
		}
	}
	return m.Text()
}

// remember keeps the run's memory with its session. When it returns without an error
// a later controller knows at least what was so when it was called.
func (a *liveRun) remember(p runtime.Provider) error {
	if p == nil {
		return recovery.ErrNoProvider
	}
	a.memoryMu.Lock()
	defer a.memoryMu.Unlock()
	a.mu.Lock()
	text, err := a.encodeMemoryLocked()
	a.mu.Unlock()
	if err != nil || text == a.lastMemory {
		return err
	}
	if err := p.SetMeta(a.session, recovery.Meta, text); err != nil {
		return err
	}
	a.lastMemory = text
	return nil
}

// saveMemory remembers what a worker reported. If that fails, the report still counts.
func (e *Engine) saveMemory(a *liveRun) {
	v, err := e.opts.City.Snapshot(a.session)
	if err == nil {
		err = a.remember(v.Provider)
	}
	if err != nil {
		e.opts.Logger.Debug("the reports of a worker are not kept with its session", "session", a.session, "error", err)
	}
}

// recall learns what an earlier controller knew, once. What was reported meanwhile
// stays.
func (a *liveRun) recall(p runtime.Provider) error {
	a.mu.Lock()
	known := a.recalled
	a.mu.Unlock()
	if known {
		return nil
	}
	m, err := recovery.Read(p, a.session, a.id)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.recalled {
		return nil
	}
	a.recalled = true
	a.progress.unknown = a.progress.at.IsZero() && m.Run != ""
	a.life = a.life.With(m.Life, a.engine.opts.Now())
	a.sent = append(m.Sent, a.sent...)
	if !m.Command.IsZero() && a.command.began.IsZero() {
		a.command = typedCommand{began: m.Command, ended: a.engine.opts.Now()}
	}
	if m.Run == "" { // it has not spoken yet
		m.ContextLog.Pending = a.engine.opts.Sections != nil
	}
	a.contextLog = m.ContextLog.With(a.contextLog)
	a.proved, a.bypass = a.proved || m.Proved, cmp.Or(a.bypass, m.Bypass)
	if !a.lock.IsActive() {
		a.lock, a.compaction = m.Lock, compactionOf(m.Lock)
	}
	a.generation, a.ackedGeneration = max(a.generation, m.Generation), max(a.ackedGeneration, m.AckedGeneration)
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

// generations returns the newest token's and the newest that the worker has.
func (a *liveRun) generations() (newest, told int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.generation, a.ackedGeneration
}
