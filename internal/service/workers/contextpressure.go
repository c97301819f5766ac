package workers

import (
	"context"
	"strconv"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/worker"
)

// checkPressure starts a compaction or a hand-over if the context of a run is too full. The
// decision is saved with the session before the action starts, so that a later controller continues
// it.
func (e *Engine) checkPressure(ctx context.Context, a *liveRun) {
	if e.isStarting(a) {
		return
	}
	rules := e.opts.Pressure(a.agent)
	v, err := e.opts.City.Snapshot(a.session)
	ends := err != nil || !v.Running || v.Draining || v.Token != a.instance
	now := e.opts.Now()
	a.mu.Lock()
	seen := a.pressureLocked()
	seen.Ends = ends
	was := a.lock
	next, act, again := was.Next(rules, seen, now)
	if act == actCompact {
		a.compaction = compactionMessageID(next)
	}
	if act == actFinished || act == actOverdue {
		a.mailbox.Remove(a.compaction) // the worker must not compact later
		a.usage = nil                  // earlier reports of the usage are out of date
	}
	a.lock = next
	a.changeLocked()
	a.mu.Unlock()
	if act == actNothing && next == was {
		return
	}
	if err := a.saveMemoryTo(v.Provider); err != nil && next.IsActive() && !was.IsActive() {
		a.mu.Lock()
		a.lock = was // the next check tries again
		a.mu.Unlock()
		return
	}
	if act != actNothing {
		e.record(ctx, a, event.WorkerContext, nil, map[string]string{"step": string(act), "usage": percent(seen.Usage)})
	}
	e.opts.City.Sense(a.session)
	e.execute(a, act)
	if next.IsActive() {
		time.AfterFunc(again.Sub(now), func() { e.checkPressure(ctx, a) })
	}
}

// compactionMessageID returns the ID of the message that asks the worker for a compaction.
func compactionMessageID(l compactionState) string {
	return "compact-" + strconv.FormatInt(l.Since.UnixNano(), 36)
}

// requestHandoff asks the city to hand the conversation of a run over to a new one. If that fails,
// it is tried again after [handoffRetry], until it succeeds, the hand-over is given up, or the run
// ends.
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
		time.AfterFunc(handoffRetry, func() { e.execute(a, actHandOff) })
	}
}

// handoffRetry is the pause before a failed hand-over is tried again.
const handoffRetry = 5 * time.Second

// execute carries out a decided action, such as a request to compact. Repeating it has no further
// effect: a worker acts on a message ID once, and a conversation is handed over once.
func (e *Engine) execute(a *liveRun, act compactionAct) {
	switch act {
	case actCompact:
		a.mu.Lock()
		_, err := a.putLocked(worker.CompactMessage, a.compaction, worker.Compact{RunID: a.id, Reason: "its context is " + percent(a.usage) + " full"})
		a.mu.Unlock()
		if err != nil { // no compaction starts; the lock is released at its time limit
			e.opts.Logger.Warn("a worker did not accept a request to compact its context", "session", a.session, "error", err)
		}
	case actHandOff:
		select {
		case e.leaving <- a:
		default: // too many hand-overs are queued: try again later
			time.AfterFunc(loadMemoryRetry, func() { e.execute(a, act) })
		}
	case actNothing, actWarn, actFinished, actOverdue:
	}
}

// resumeCompaction continues a compaction or a hand-over that an earlier controller started.
func (e *Engine) resumeCompaction(ctx context.Context, a *liveRun) {
	a.mu.Lock()
	lock := a.lock
	a.mu.Unlock()
	if !lock.IsActive() {
		return
	}
	act := actCompact
	if lock.Leaves {
		act = actHandOff
	}
	e.execute(a, act)
	time.AfterFunc(max(0, lock.Until.Sub(e.opts.Now())), func() { e.checkPressure(ctx, a) })
}

// pressureLocked returns what is known about the context of a run, as the input of
// [compactionState.Next]. The caller sets its field Ends.
func (a *liveRun) pressureLocked() compactionInput {
	state := a.life.State()
	l := a.mailbox.Find(a.compaction)
	s := compactionInput{
		Usage: a.usage, Offers: a.reader != nil && a.life.HasOffer(worker.OfferCompact),
		Idle: (state == worker.Ready || state == worker.Idle) && len(a.openQuestionsLocked()) == 0 && !a.mailbox.HasOpenPrompt(),
		Done: a.ended || a.lock.IsActive() && !a.lock.Leaves && (l.IsDone() || a.contextLog.Epoch > a.lock.Epoch), Epoch: a.contextLog.Epoch,
	}
	if s.Usage == nil && a.lock == (compactionState{}) {
		s.Usage = a.life.ContextUsage()
	}
	return s
}

// percent returns a fraction as a percentage such as "83%", or an empty string for nil.
func percent(usage *float64) string {
	if usage == nil {
		return ""
	}
	return strconv.Itoa(int(*usage*100)) + "%"
}
