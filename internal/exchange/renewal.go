package exchange

import (
	"context"
	"time"

	"gascity/worker"
)

// sameCompaction is for how long after a worker's word that it has obeyed a report of a
// compaction is one of the same.
const sameCompaction = 10 * time.Second

// obeyedLocked begins a new epoch if a worker says that it has compacted its context as it
// was told, and has not reported it by an event of its own.
func (a *active) obeyedLocked(ack worker.Ack) bool {
	if ack.State != worker.Consumed || ack.ID != a.compaction || !a.lock.Held() || a.given.Compacted.After(a.lock.Since) {
		return false
	}
	return a.compactedLocked(a.engine.opts.Now().Add(sameCompaction))
}

// renew gives an agent whose conversation was compacted what the city tells it then. That
// it is owed is kept with the session until it is given, so it may be called at every word
// of a worker: a section that the epoch has had is not given again.
func (e *Engine) renew(ctx context.Context, a *active) {
	a.mu.Lock()
	owed, epoch := a.given.Owed, a.given.Epoch
	a.mu.Unlock()
	if !owed || e.opts.Sections == nil || a.presence() == returning {
		return
	}
	if sections := e.opts.Sections(a.agent, worker.CompactContext); len(sections) > 0 {
		if _, err := e.Context(ctx, worker.Context{RunID: a.id, Sections: sections, Mode: worker.CompactContext}); err != nil {
			e.opts.Logger.Warn("an agent is not told yet what it is told after a compaction", "session", a.session, "error", err)
			return
		}
	}
	a.mu.Lock()
	if a.given.Epoch == epoch && len(a.given.Open) == 0 {
		next := a.given.with(given{})
		next.Owed = false
		a.given = next
	}
	a.mu.Unlock()
	e.keep(a)
}
