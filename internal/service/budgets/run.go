package budgets

import (
	"context"
	"slices"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
)

const (
	// retryFirst and retryMax space the attempts at what fails.
	retryFirst = 100 * time.Millisecond
	retryMax   = 5 * time.Second
	// storeTime bounds one question to the store.
	storeTime = 30 * time.Second
	// slept is how much later than it wanted the engine must come to itself for the
	// host to have slept.
	slept = 15 * time.Second
)

// Run works until ctx ends. It is called once.
func (e *Engine) Run(ctx context.Context) error {
	r := &runner{Engine: e, overruns: map[account]*overrun{}, retry: retryFirst}
	for {
		began := e.opts.Now()
		next := r.work(ctx, began)
		timer := newTimer(next, e.opts.Now())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-e.wake:
		case <-timer.C:
		}
		timer.Stop()
		if now := e.opts.Now(); !next.IsZero() && now.Round(0).Sub(later(next, began).Round(0)) > slept {
			e.mu.Lock()
			e.cache.endBusyOnSleep(began, now, timed(e.rules.Budgets))
			e.mu.Unlock()
		}
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

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier returns the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// runner is what only the loop does.
type runner struct {
	*Engine
	overruns map[account]*overrun
	again    time.Time // when to try again what has failed; zero: nothing has
	retry    time.Duration
}

// work does what there is to do now, and returns when to look again; zero: when
// something changes.
func (r *runner) work(ctx context.Context, now time.Time) time.Time {
	failed := false
	if err := r.refreshIn(ctx); err != nil {
		r.opts.Logger.Warn("what was spent is not known", "error", err)
		failed = true
	}
	views := r.opts.City.Snapshots()
	r.mu.Lock()
	rules, ready, due := r.rules, r.loaded, r.dueLocked()
	r.cache.follow(views, now, timed(rules.Budgets))
	r.mu.Unlock()
	switch {
	case !ready:
		r.mu.Lock()
		changed := r.updateHeldLocked(views)
		r.mu.Unlock()
		r.notifyChanged(changed)
		return r.later(true)
	case now.Before(due):
		return due
	}
	r.evaluate(views)
	if r.recordSilence(now) {
		r.evaluate(views) // it is in the book: from now on it counts as that
	}
	failed = !r.save(ctx) || failed
	failed = !r.act(ctx, views) || failed
	return earlier(r.later(failed), r.next(views, now))
}

func (r *runner) refreshIn(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return r.refresh(ctx)
}

// later returns when to try again after a failure; zero if there was none.
func (r *runner) later(failed bool) time.Time {
	if !failed {
		r.again, r.retry = time.Time{}, retryFirst
		return time.Time{}
	}
	now := r.opts.Now()
	if r.again.After(now) {
		return r.again
	}
	r.again, r.retry = now.Add(r.retry), min(2*r.retry, retryMax)
	return r.again
}

// recordSilence writes down who is silent, so that it is not forgotten when they rest.
func (r *runner) recordSilence(now time.Time) (noted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.uses {
		for name, since := range u.Silent {
			r.cache.silence(name, since, now)
			noted = true
		}
	}
	return noted
}

// save hands the store what the city noted; it is false if the store did not take it.
func (r *runner) save(ctx context.Context) bool {
	r.mu.Lock()
	open := r.cache.open()
	r.mu.Unlock()
	if len(open) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if _, err := r.opts.Store.PutUsage(ctx, open); err != nil {
		r.opts.Logger.Warn("what was seen of spending is not kept", "error", err)
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache.saved(open)
	return true
}

// timed reports whether a budget is of time.
func timed(budgets []usage.Budget) bool {
	return slices.ContainsFunc(budgets, func(b usage.Budget) bool { return b.Measure == usage.MeasureTime })
}

// tick is how often at least it is looked at what only time changes, as long as
// somebody is busy.
const tick = 30 * time.Second

// next returns when time alone may change the verdict: a window ends, somebody is silent
// for too long, or has worked for too long.
func (r *runner) next(views []session.Snapshot, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next time.Time
	for _, u := range r.uses {
		if u.Over && !u.Until.IsZero() {
			next = earlier(next, later(u.Until, now).Add(time.Millisecond))
		}
	}
	for _, s := range r.cache.busy(views) {
		if s.Since.IsZero() {
			continue
		}
		for _, b := range r.rules.Budgets {
			if b.AppliesTo(s.Session, s.Agent) {
				next = earlier(next, r.dueFor(b, s, now))
			}
		}
	}
	return next
}

// dueFor returns when a budget of somebody who is busy may be used up without a word.
func (r *runner) dueFor(b usage.Budget, s usage.Busy, now time.Time) time.Time {
	var next time.Time
	if b.Silence > 0 {
		next = now.Add(min(tick, max(b.Silence/4, 10*time.Millisecond)))
	}
	if b.Measure == usage.MeasureTime {
		next = earlier(next, now.Add(tick))
		for _, u := range r.uses {
			if left := b.Limit - u.Used; u.Budget == b && u.AppliesTo(s.Session, s.Agent) && left > 0 {
				next = earlier(next, now.Add(time.Duration(left*float64(time.Second))+time.Millisecond))
			}
		}
	}
	return next
}
