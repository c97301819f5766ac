package workers

import (
	"context"
	"strconv"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/service/workers/compaction"
	"gascity/worker"
)

// checkPressure looks whether a run's context is too full, and has its worker compact it, or its
// conversation handed over. What is begun is kept with the session before anybody is
// asked, so that a later controller goes on with it.
func (e *Engine) checkPressure(a *liveRun) {
	if e.opts.Pressure == nil || e.isStarting(a) {
		return
	}
	rules := e.opts.Pressure(a.agent)
	v, err := e.opts.City.Snapshot(a.session)
	ends := err != nil || !v.Running || v.Draining || v.Token != a.instance
	now := e.opts.Now()
	a.mu.Lock()
	sight := a.pressureLocked()
	sight.Ends = ends
	was := a.lock
	next, act, again := was.Next(rules, sight, now)
	if act == compaction.Compact {
		a.compaction = compactionOf(next)
	}
	if act == compaction.Freed || act == compaction.Overdue {
		a.mailbox.Remove(a.compaction) // it is not to be obeyed at another time
		a.usage = nil                  // reports before it mean nothing any more
	}
	a.lock = next
	a.changeLocked()
	a.mu.Unlock()
	if act == compaction.Nothing && next == was {
		return
	}
	if err := a.remember(v.Provider); err != nil && next.IsActive() && !was.IsActive() {
		a.mu.Lock()
		a.lock = was // a later look tries again
		a.mu.Unlock()
		return
	}
	if act != compaction.Nothing {
		e.record(a, event.WorkerContext, nil, map[string]string{"step": string(act), "usage": percent(sight.Usage)})
	}
	e.opts.City.Sense(a.session)
	e.execute(a, act)
	if next.IsActive() {
		time.AfterFunc(again.Sub(now), func() { e.checkPressure(a) })
	}
}

// compactionOf returns the name of the message by which a compaction is asked for.
func compactionOf(l compaction.State) string {
	return "compact-" + strconv.FormatInt(l.Since.UnixNano(), 36)
}

// requestHandoff has the city hand a conversation over, until it has, or the run is over.
func (e *Engine) requestHandoff(ctx context.Context, a *liveRun) {
	ctx, cancel := context.WithTimeout(ctx, enforceTimeout)
	defer cancel()
	err := e.opts.Handoff(ctx, a.session, session.PublicInstance(a.instance))
	if err == nil {
		return
	}
	e.opts.Logger.Warn("a conversation whose context is full is not handed over yet", "session", a.session, "error", err)
	a.mu.Lock()
	goes := !a.ended && a.lock.Leaves
	a.mu.Unlock()
	if goes {
		time.AfterFunc(handoffRetry, func() { e.execute(a, compaction.Handoff) })
	}
}

// handoffRetry is the pause before a conversation is handed over once more.
const handoffRetry = 5 * time.Second

// execute does what was begun. It may be done again: a worker acts on a message once, and
// a conversation is handed over once.
func (e *Engine) execute(a *liveRun, act compaction.Act) {
	switch act {
	case compaction.Compact:
		a.mu.Lock()
		_, err := a.putLocked(worker.CompactMessage, a.compaction, worker.Compact{RunID: a.id, Reason: "its context is " + percent(a.usage) + " full"})
		a.mu.Unlock()
		if err != nil { // it fetches nothing: the lock ends in time
			e.opts.Logger.Warn("a worker did not accept a request to compact its context", "session", a.session, "error", err)
		}
	case compaction.Handoff:
		if e.opts.Handoff == nil {
			return
		}
		select {
		case e.leaving <- a:
		default: // they are too many: it is tried again
			time.AfterFunc(recallAgain, func() { e.execute(a, act) })
		}
	case compaction.Nothing, compaction.Warn, compaction.Freed, compaction.Overdue:
	}
}

// resume goes on with what an earlier controller had begun.
func (e *Engine) resume(a *liveRun) {
	a.mu.Lock()
	lock := a.lock
	a.mu.Unlock()
	if !lock.IsActive() {
		return
	}
	act := compaction.Compact
	if lock.Leaves {
		act = compaction.Handoff
	}
	e.execute(a, act)
	time.AfterFunc(max(0, lock.Until.Sub(e.opts.Now())), func() { e.checkPressure(a) })
}

// pressureLocked returns what is seen of a run's pressure, except whether it is about to end.
func (a *liveRun) pressureLocked() compaction.Observation {
	state := a.life.State()
	l := a.mailbox.Find(a.compaction)
	s := compaction.Observation{
		Usage: a.usage, Offers: a.reader != nil && a.life.HasOffer(worker.OfferCompact),
		Idle: (state == worker.Ready || state == worker.Idle) && len(a.standingLocked()) == 0 && !a.mailbox.HasOpen(worker.PromptMessage),
		Done: a.ended || a.lock.IsActive() && !a.lock.Leaves && (l.IsDone() || a.contextLog.Epoch > a.lock.Epoch), Epoch: a.contextLog.Epoch,
	}
	if s.Usage == nil && a.lock == (compaction.State{}) {
		s.Usage = a.life.ContextUsage()
	}
	return s
}

func percent(usage *float64) string {
	if usage == nil {
		return ""
	}
	return strconv.Itoa(int(*usage*100)) + "%"
}
