package budgets

import (
	"context"
	"slices"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
)

const (
	// storeTime is the time limit of one operation of the store.
	storeTime = 30 * time.Second
	// slept is how late the loop must wake for gc to conclude that the host was asleep.
	slept = 15 * time.Second
)

// Run works until ctx ends. It must be called once.
func (e *Engine) Run(ctx context.Context) error {
	r := &runner{Engine: e, overruns: map[account]*overrun{}, retry: retry.New(engine.RetryFirst, engine.RetryLongest)}
	var began, next time.Time // the last run, and when the next one was due
	engine.Loop(ctx, e.opts.Now, e.wake, func(bool) time.Time {
		now := e.opts.Now()
		if !next.IsZero() && now.Round(0).Sub(engine.Later(next, began).Round(0)) > slept {
			e.mu.Lock()
			e.cache.endBusyOnSleep(began, now, timed(e.rules.Budgets))
			e.mu.Unlock()
		}
		began, next = now, r.work(ctx, now)
		return next
	})
	return nil
}

// runner has the state that only the goroutine of Run uses.
type runner struct {
	*Engine
	overruns map[account]*overrun
	again    time.Time // when to try failed operations again; zero: none has failed
	retry    *retry.Backoff
}

// work does everything that is due now. It returns when to run again; zero: only when something
// changes.
func (r *runner) work(ctx context.Context, now time.Time) time.Time {
	failed := false
	if err := r.refresh(ctx); err != nil {
		r.opts.Logger.Warn("cannot read the usage", "error", err)
		failed = true
	}
	views := r.opts.City.Snapshots()
	r.mu.Lock()
	rules, ready, due := r.rules, r.loaded, r.dueLocked()
	r.cache.updateBusy(views, now, timed(rules.Budgets))
	r.mu.Unlock()
	switch {
	case !ready:
		r.mu.Lock()
		changed := r.updateHeldLocked(views)
		r.mu.Unlock()
		r.notifyChanged(changed)
		return r.retryAt(true)
	case now.Before(due):
		return due
	}
	r.evaluate(views)
	if r.recordSilence(now) {
		r.evaluate(views) // the new entries count from now on
	}
	failed = !r.save(ctx) || failed
	failed = !r.act(ctx, views) || failed
	return engine.Earlier(r.retryAt(failed), r.nextEvaluation(views, now))
}

// retryAt returns when to try failed operations again; zero if nothing failed. After each failure
// in a row the pause is longer.
func (r *runner) retryAt(failed bool) time.Time {
	if !failed {
		r.again = time.Time{}
		r.retry.Reset()
		return time.Time{}
	}
	now := r.opts.Now()
	if r.again.After(now) {
		return r.again
	}
	r.again = now.Add(r.retry.Next())
	return r.again
}

// recordSilence records which busy sessions have sent no usage reports for too long, so that this
// still counts after they become idle. It returns true if there was any.
func (r *runner) recordSilence(now time.Time) (noted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.uses {
		for name, since := range u.Silent {
			r.cache.recordSilent(name, since, now)
			noted = true
		}
	}
	return noted
}

// save stores the city's own entries. It returns false if the store failed.
func (r *runner) save(ctx context.Context) bool {
	r.mu.Lock()
	open := r.cache.unsavedEntries()
	r.mu.Unlock()
	if len(open) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if _, err := r.opts.Store.PutUsage(ctx, open); err != nil {
		r.opts.Logger.Warn("cannot save usage entries", "error", err)
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache.markSaved(open)
	return true
}

// timed reports whether any budget measures time.
func timed(budgets []usage.Budget) bool {
	return slices.ContainsFunc(budgets, func(b usage.Budget) bool { return b.Measure == usage.MeasureTime })
}

// tick is the longest pause between two evaluations while a session with a time or silence limit is
// busy.
const tick = 30 * time.Second

// nextEvaluation returns when the result of an evaluation may change although no usage is reported:
// old usage leaves a window, a session is silent for too long, or it has worked for too long. Zero
// means never.
func (r *runner) nextEvaluation(views []session.Snapshot, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	var next time.Time
	for _, u := range r.uses {
		if u.Over && !u.Until.IsZero() {
			next = engine.Earlier(next, engine.Later(u.Until, now).Add(time.Millisecond))
		}
	}
	for _, s := range r.cache.busy(views) {
		if s.Since.IsZero() {
			continue
		}
		for _, b := range r.rules.Budgets {
			if b.AppliesTo(s.Session, s.Agent) {
				next = engine.Earlier(next, r.dueFor(b, s, now))
			}
		}
	}
	return next
}

// dueFor returns when the budget b may be used up by the busy session s although it sends no usage
// report. Zero means never.
func (r *runner) dueFor(b usage.Budget, s usage.Busy, now time.Time) time.Time {
	var next time.Time
	if b.Silence > 0 {
		next = now.Add(min(tick, max(b.Silence/4, 10*time.Millisecond)))
	}
	if b.Measure == usage.MeasureTime {
		next = engine.Earlier(next, now.Add(tick))
		for _, u := range r.uses {
			if left := b.Limit - u.Used; u.Budget == b && u.AppliesTo(s.Session, s.Agent) && left > 0 {
				next = engine.Earlier(next, now.Add(time.Duration(left*float64(time.Second))+time.Millisecond))
			}
		}
	}
	return next
}
