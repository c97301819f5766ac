package workers

import (
	"cmp"
	"slices"

	"gascity/runtime"
)

// encodeMemoryLocked returns the run's memory (what a later controller must know) as text. The
// caller holds mu.
func (a *liveRun) encodeMemoryLocked() (string, error) {
	m := runMemory{
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

// saveMemoryTo writes the run's memory to the metadata of its session. After it returns nil, a
// later controller knows at least the state at the time of the call.
func (a *liveRun) saveMemoryTo(p runtime.Provider) error {
	if p == nil {
		return errNoProvider
	}
	a.memoryMu.Lock()
	defer a.memoryMu.Unlock()
	a.mu.Lock()
	text, err := a.encodeMemoryLocked()
	a.mu.Unlock()
	if err != nil || text == a.lastMemory {
		return err
	}
	if err := p.SetMeta(a.session, MetaRun, text); err != nil {
		return err
	}
	a.lastMemory = text
	return nil
}

// saveMemory writes the run's memory after a report of a worker. If that fails, the report still
// counts, and the failure is logged.
func (e *Engine) saveMemory(a *liveRun) {
	v, err := e.opts.City.Snapshot(a.session)
	if err == nil {
		err = a.saveMemoryTo(v.Provider)
	}
	if err != nil {
		e.opts.Logger.Debug("cannot save the reports of a worker with its session", "session", a.session, "error", err)
	}
}

// loadMemory reads the memory that an earlier controller has written and merges it into the run,
// once. Reports that arrived before the call stay.
func (a *liveRun) loadMemory(p runtime.Provider) error {
	if a.hasLoadedMemory() {
		return nil
	}
	m, err := readRunMemory(p, a.session, a.id)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.memoryLoaded {
		return nil
	}
	a.memoryLoaded = true
	a.progress.unknown = a.progress.at.IsZero() && m.Run != ""
	a.life = a.life.With(m.Life, a.engine.opts.Now())
	a.sent = append(m.Sent, a.sent...)
	if !m.Command.IsZero() && a.command.began.IsZero() {
		a.command = typedCommand{began: m.Command, ended: a.engine.opts.Now()}
	}
	if m.Run == "" { // no memory: the worker has not reported yet
		m.ContextLog.Pending = true
	}
	a.contextLog = m.ContextLog.With(a.contextLog)
	a.proved, a.bypass = a.proved || m.Proved, cmp.Or(a.bypass, m.Bypass)
	if !a.lock.IsActive() {
		a.lock, a.compaction = m.Lock, compactionMessageID(m.Lock)
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

// generations returns the number of the newest token and of the newest token that the worker has
// acknowledged.
func (a *liveRun) generations() (newest, told int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.generation, a.ackedGeneration
}
