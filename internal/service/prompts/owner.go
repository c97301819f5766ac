package prompts

import (
	"context"
	"errors"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
)

// owner acts for one session. One goroutine owns it; flights answer on landed.
type owner struct {
	*Engine
	queue   *sessionQueue
	results chan opResult

	currentOp     string             // the receipt that an attempt is under way for; "" none
	currentOpKind opKind             // what is under way
	cancel        context.CancelFunc // of the flight

	noChannel noChannel // belongs to the flight

	hold      time.Time // nothing is done before: the store failed
	retry     time.Duration
	wakeAt    time.Time // no wake before
	wakeWait  time.Duration
	idleBy    time.Time    // an interrupted agent has until then to leave its turn
	quietBy   time.Time    // no interrupt before: a person types
	watched   time.Time    // since when the session is known to this controller; zero: it is not
	resolveAt time.Time    // not before that it is asked again what came of a text
	readAt    time.Time    // when to ask for a reading if none has come since a prompt was taken; zero: it was asked
	missing   time.Time    // since when the city does not know the target; zero: it does
	tried     retryTrigger // at the last attempt
	triedAt   time.Time
}

// anything is the flight of something that is for no receipt.
const anything = "*"

const (
	// minGap separates two attempts, however often the view changes.
	minGap = 100 * time.Millisecond
	// wakeFirst and wakeMax space requests to wake an agent that does not wake.
	wakeFirst = 2 * time.Second
	wakeMax   = time.Minute
	// goneAfter is how long a target must be unknown to the city to be gone.
	goneAfter = 10 * time.Second
	// quiet is how long after a prompt was taken the agent is read again if it has
	// shown nothing since, and settled how long until that reading has come for sure.
	quiet   = 500 * time.Millisecond
	settled = time.Second
	// grace is how long an attempt may go on when the engine ends.
	grace = 5 * time.Second
)

// own works until no receipt is open or ctx ends.
func (e *Engine) own(ctx context.Context, b *sessionQueue) {
	o := &owner{Engine: e, queue: b, results: make(chan opResult, 1), retry: retryFirst, wakeWait: wakeFirst}
	for {
		next, idle := o.work(ctx)
		if idle && e.release(b) {
			return
		}
		timer := newTimer(next, e.opts.Now())
		select {
		case <-ctx.Done():
			timer.Stop()
			o.leave(ctx)
			return
		case <-b.wakeup:
		case l := <-o.results:
			o.finishOp(ctx, l)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// newTimer fires at next, never if that is zero.
func newTimer(next, now time.Time) *time.Timer {
	if next.IsZero() {
		timer := time.NewTimer(time.Hour)
		timer.Stop()
		return timer
	}
	return time.NewTimer(max(0, next.Sub(now)))
}

// leave waits for a flight under way, and cuts it off after a while. What then
// came of it is not known: the receipt stays injected.
func (o *owner) leave(ctx context.Context) {
	if o.currentOp == "" {
		return
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case l := <-o.results:
		o.finishLastOp(ctx, l)
	case <-timer.C:
		o.cancel()
		o.finishLastOp(ctx, <-o.results)
	}
}

// finishLastOp is land after the end of ctx.
func (o *owner) finishLastOp(ctx context.Context, l opResult) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	o.finishOp(ctx, l)
}

// work does what there is to do now. It returns when to look again, zero if only
// something else can change anything, and whether nothing is open.
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
		s, sure := o.judge(v, err, now)
		if err == nil {
			s.HeldReason = o.opts.PromptHold(v)
			s.FirstPromptUntil = o.opensBy(v)
		}
		o.watch(&s, v, now)
		s.AcceptedAt = o.lastAccepted(o.queue, s.Instance)
		s.ReportsTurns, s.TurnAt = o.hasReports(o.queue.session, s.Instance), o.turnOf(o.queue.session, s.Instance)
		if o.rechecks() || !o.triedAt.IsZero() && retryTriggerOf(v) != o.tried {
			s.ChangedAt = o.triedAt.Add(minGap)
		}
		reading := o.read(s, now)
		a := prompt.Decide(open, s, now, o.currentOp)
		if at, wait := o.do(ctx, a, v); wait {
			o.explain(a.Detail, s.HeldReason)
			return earlier(earlier(earlier(at, a.At), earlier(sure, reading)), remove), false
		}
	}
	return time.Time{}, false
}

// judge is observationOf, save that a target is gone only when the city has not known
// it for a while: one that has just begun, or reads its configuration again, may
// not know it yet. sure is when that is over; zero: now.
func (o *owner) judge(v session.Snapshot, err error, now time.Time) (s prompt.Observation, sure time.Time) {
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

// read asks for a fresh reading of an agent that accepted a prompt and has shown
// nothing since: the result of the prompt may have been seen before its
// submission was reported, and then nothing changes any more. It returns when to
// do so, zero: not.
func (o *owner) read(s prompt.Observation, now time.Time) time.Time {
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

// do does one action; wait says that nothing else is to be done before at or a
// change.
func (o *owner) do(ctx context.Context, a prompt.Action, v session.Snapshot) (at time.Time, wait bool) {
	switch a.Verb {
	case prompt.VerbMove:
		return o.move(ctx, a)
	case prompt.VerbDeliver:
		return o.deliver(ctx, a.ID, v)
	case prompt.VerbResolve:
		at, wait = o.resolve(ctx, a.ID, v)
		return earlier(at, a.At), wait
	case prompt.VerbWake:
		return o.wake(ctx, v)
	default:
		return time.Time{}, true
	}
}

// earlier returns the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// explain keeps why the first prompt waits, for those who ask.
func (o *owner) explain(why, held string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.why, o.queue.holdReason = why, held
}

// saved records how a change went. After a failure of the store nothing is done for
// a while; a receipt that is over is no failure.
func (o *owner) saved(err error) (at time.Time, wait bool) {
	if err == nil || errors.Is(err, errEnded) {
		o.retry, o.hold = retryFirst, time.Time{}
		return time.Time{}, false
	}
	o.hold = o.opts.Now().Add(o.retry)
	o.retry = min(2*o.retry, retryMax)
	return o.hold, true
}

func (o *owner) move(ctx context.Context, a prompt.Action) (at time.Time, wait bool) {
	_, err := o.change(ctx, o.queue, a.ID, func(r prompt.Receipt) (prompt.Receipt, error) {
		if prompt.Advance(r.State, a.To) != nil {
			return r, errEnded // somebody changed it since it was looked at
		}
		if a.Evidence != "" {
			r.Evidence = a.Evidence
		}
		return r.Move(a.To, o.opts.Now(), a.Detail)
	})
	return o.saved(err)
}
