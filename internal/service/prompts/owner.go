package prompts

import (
	"context"
	"errors"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
)

// owner acts for one session, in one goroutine. Operations send their results to the channel
// results.
type owner struct {
	*Engine
	queue   *sessionQueue
	results chan opResult

	currentOp     string             // the receipt of the running operation; empty: none is running
	currentOpKind opKind             // the kind of the running operation
	cancel        context.CancelFunc // cancels the running operation

	noChannel noChannel // used only by the running operation

	hold      time.Time      // the store failed: do nothing before this time
	retry     *retry.Backoff // delays after failures of the store
	wakeAt    time.Time      // no wake request before this time
	wakeDelay *retry.Backoff
	idleBy    time.Time    // until when an interrupted agent may take to end its turn
	quietBy   time.Time    // a person is typing: no interrupt before this time
	watched   time.Time    // since when this controller knows the session; zero: it does not
	resolveAt time.Time    // an unknown outcome is not asked for again before this time
	readAt    time.Time    // when to request a reading if none arrived after the last accepted prompt; zero: not needed
	missing   time.Time    // since when the city does not know the target; zero: it knows it
	tried     retryTrigger // the trigger at the last attempt
	triedAt   time.Time
}

// noReceipt is the value of currentOp for an operation without a receipt.
const noReceipt = "*"

const (
	// minGap is the shortest time between two attempts that a change of the snapshot triggers.
	minGap = 100 * time.Millisecond
	// wakeFirst and wakeMax are the shortest and the longest pause between requests to wake an
	// agent.
	wakeFirst = 2 * time.Second
	wakeMax   = time.Minute
	// goneAfter is how long the city must not know a target before the target counts as removed.
	goneAfter = 10 * time.Second
	// quiet is how long after an accepted prompt a new reading of the agent is requested if none
	// has arrived. settled is how long after that the rules run again.
	quiet   = 500 * time.Millisecond
	settled = time.Second
	// grace is how long a running operation may continue when the engine stops.
	grace = 5 * time.Second
)

// own runs the owner of a session: the loop that delivers the session's prompts. It returns when no
// receipt is open, or when ctx ends.
func (e *Engine) own(ctx context.Context, session string) {
	b := e.queueOf(session)
	o := &owner{
		Engine: e, queue: b, results: make(chan opResult, 1),
		retry: retry.New(engine.RetryFirst, engine.RetryLongest), wakeDelay: retry.New(wakeFirst, wakeMax),
	}
	loop, stop := context.WithCancel(ctx)
	defer stop()
	engine.Loop(loop, e.opts.Now, b.wakeup, func(bool) time.Time {
		select {
		case l := <-o.results:
			o.finishOp(ctx, l)
		default:
		}
		next, idle := o.work(ctx)
		if idle && e.release(b) {
			stop()
		}
		return next
	})
	o.finishOnExit(ctx)
	e.deleteOld(ctx)
}

// finishOnExit waits for the running operation when the engine stops, and cancels it after [grace].
// If that cuts off a delivery, its receipt stays injected, and the next controller asks for the
// outcome.
func (o *owner) finishOnExit(ctx context.Context) {
	if o.currentOp == "" {
		return
	}
	defer time.AfterFunc(grace, o.cancel).Stop()
	l := <-o.results
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace) // ctx has ended
	defer cancel()
	o.finishOp(ctx, l)
}

// work carries out everything that can be done for the session now. It returns when it must run
// again; zero: only when something changes. idle is true if no receipt is open.
func (o *owner) work(ctx context.Context) (next time.Time, idle bool) {
	for ctx.Err() == nil {
		open := o.open(o.queue)
		remove := o.removeFiles(o.opts.Now())
		if len(open) == 0 && o.currentOp == "" {
			return remove, true
		}
		o.abortCancelled()
		now := o.opts.Now()
		if now.Before(o.hold) {
			return o.hold, false
		}
		v, err := o.opts.City.Snapshot(o.queue.session)
		if err == nil && v.MovesTo != "" && slices.ContainsFunc(open, func(r *prompt.Receipt) bool { return r.IsQueued() && r.ID != o.currentOp }) {
			if at, wait := o.saved(o.moveWaiting(ctx, v.MovesTo, v.Agent)); wait {
				return at, false
			}
			continue
		}
		s, sure := o.observe(v, err, now)
		if err == nil {
			s.HeldReason = o.opts.PromptHold(v)
			s.FirstPromptUntil = o.firstTurnDeadline(v)
		}
		o.addWatchTimes(ctx, &s, v, now)
		if recheck := o.addReports(&s); recheck || !o.triedAt.IsZero() && retryTriggerOf(v) != o.tried {
			s.ChangedAt = o.triedAt.Add(minGap)
		}
		reading := o.requestReading(s, now)
		a := prompt.Decide(open, s, now, o.currentOp)
		if at, wait := o.do(ctx, a, v); wait {
			o.setWaitReason(a.Detail, s.HeldReason)
			return engine.Earlier(engine.Earlier(engine.Earlier(at, a.At), engine.Earlier(sure, reading)), remove), false
		}
	}
	return time.Time{}, false
}

// observe returns the input of [prompt.Decide] from the snapshot v or its error. An agent counts as
// removed from the city only after the city has not known it for [goneAfter], because a new
// controller may not know it yet. sure is when that time is over; zero: no such wait.
func (o *owner) observe(v session.Snapshot, err error, now time.Time) (s prompt.Observation, sure time.Time) {
	if !errors.Is(err, client.ErrNotFound) {
		o.missing = time.Time{}
		return observationOf(v, err), time.Time{}
	}
	if o.missing.IsZero() {
		o.missing = now
	}
	if sure = o.missing.Add(goneAfter); now.Before(sure) {
		return prompt.Observation{ClosedReason: err.Error()}, sure
	}
	return observationOf(v, err), time.Time{}
}

// addReports adds to the observation s what is known about its instance: the last prompt that it accepted, and what its hooks have
// reported. recheck is true if [Engine.RecheckInput] was called since the last attempt: the content of the input box may have
// changed.
func (o *owner) addReports(s *prompt.Observation) (recheck bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a := o.queue.accepted; s.Instance != "" && a.instance == s.Instance {
		s.AcceptedAt = a.at
	}
	if t := o.hookReporters[o.queue.session]; s.Instance != "" && t.instance == s.Instance {
		s.ReportsTurns, s.TurnAt = true, t.began
	}
	return o.queue.recheck
}

// requestReading requests a new reading of an agent that has accepted a prompt, if none has arrived
// since. Without it, the last reading may be from before the prompt, and nothing would change any
// more. It returns when to call it again; zero: not needed.
func (o *owner) requestReading(s prompt.Observation, now time.Time) time.Time {
	switch {
	case o.readAt.IsZero() || s.AcceptedAt.IsZero() || s.ReadAt.After(s.AcceptedAt):
		return time.Time{}
	case now.Before(o.readAt):
		return o.readAt
	}
	o.readAt = time.Time{}
	o.opts.City.Sense(o.queue.session)
	return now.Add(settled)
}

// do carries out the action a. If wait is true, the owner has nothing else to do until something
// changes, or until the returned time, if that is not zero.
func (o *owner) do(ctx context.Context, a prompt.Action, v session.Snapshot) (at time.Time, wait bool) {
	switch a.Verb {
	case prompt.VerbMove:
		return o.move(ctx, a)
	case prompt.VerbDeliver:
		return o.deliver(ctx, a.ID, v)
	case prompt.VerbResolve:
		at, wait = o.resolve(ctx, a.ID, v)
		return engine.Earlier(at, a.At), wait
	case prompt.VerbWake:
		return o.wake(ctx, v)
	default:
		return time.Time{}, true
	}
}

// setWaitReason stores why the first prompt of the queue waits, to be shown in listings. held is
// why no prompt of the session is delivered; empty: they are not held.
func (o *owner) setWaitReason(why, held string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.why, o.queue.holdReason = why, held
}

// saved handles the result of a write to the store. After a failure the owner does nothing until
// the time at. That a receipt has ended (errEnded) is not a failure.
func (o *owner) saved(err error) (at time.Time, wait bool) {
	if err == nil || errors.Is(err, errEnded) {
		o.hold = time.Time{}
		o.retry.Reset()
		return time.Time{}, false
	}
	o.hold = o.opts.Now().Add(o.retry.Next())
	return o.hold, true
}

// move changes the state of a receipt as the action a says. It does nothing if the receipt has
// changed since the action was decided.
func (o *owner) move(ctx context.Context, a prompt.Action) (at time.Time, wait bool) {
	_, err := o.change(ctx, o.queue, a.ID, func(r prompt.Receipt) (prompt.Receipt, error) {
		if prompt.Advance(r.State, a.To) != nil {
			return r, errEnded // the receipt has changed since the rules read it
		}
		if a.Evidence != "" {
			r.Evidence = a.Evidence
		}
		return r.Move(a.To, o.opts.Now(), a.Detail)
	})
	return o.saved(err)
}
