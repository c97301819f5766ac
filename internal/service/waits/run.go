package waits

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/retry"
	"gascity/internal/service/engine"
)

// Run works until ctx ends, and returns nil when all goroutines that it started have returned. It
// must be called once.
func (w *Service) Run(ctx context.Context) error {
	defer w.life.SetEnded()
	if !w.load(ctx) {
		return nil
	}
	w.life.SetLoaded()
	var jobs sync.WaitGroup
	defer jobs.Wait()
	jobs.Go(func() { w.followEvents(ctx) })
	engine.Loop(ctx, w.opts.Now, w.due.Woken(), func(bool) time.Time {
		for _, key := range w.due.PopAll() {
			w.evaluate(ctx, key)
		}
		return w.checkTimers(ctx, &jobs)
	})
	return nil
}

// load reads the stored waits. It returns false if ctx ends first. Waits that cannot be read are
// logged and skipped.
func (w *Service) load(ctx context.Context) bool {
	kept, err := engine.Load(ctx, w.opts.Store.LoadWaits, func(err error) { w.opts.Logger.Warn("cannot read the waits yet", "error", err) })
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		w.opts.Logger.Warn("cannot read some waits", "error", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range kept {
		e := &entry{Wait: k, durable: true, done: make(chan struct{})}
		w.registered[e.ID] = e
		if e.State != client.WaitOpen {
			close(e.done)
			continue
		}
		switch e.For {
		case client.WaitTime:
			e.at, _ = parseTime(e.Arg, e.CreatedAt) // it was checked at registration; if it is invalid, the wait ends at its deadline
		case client.WaitCommand:
			e.next, e.gap = w.opts.Now(), firstGap
		}
		w.putLocked(e)
	}
	w.nextAt = w.opts.Now()
	return true
}

// evaluate checks the waits that depend on the session, receipt or question with this key.
func (w *Service) evaluate(ctx context.Context, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.byKey[key] {
		w.judgeLocked(ctx, e)
	}
}

// judgeLocked checks a wait for a session, a receipt or a question, and ends it if its condition is met or can never be met. The
// caller holds mu.
func (w *Service) judgeLocked(ctx context.Context, e *entry) {
	if e.State != client.WaitOpen {
		return
	}
	var v verdict
	switch e.For {
	case client.WaitReceipt, client.WaitPending:
		bounded, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		if e.For == client.WaitReceipt {
			v = judgeReceipt(bounded, w.opts.Prompts, e.Arg)
		} else {
			v = judgeQuestion(bounded, w.opts.Questions, e.Arg)
		}
	default:
		v = w.judgeSessionLocked(e)
	}
	if v.state != "" {
		w.endLocked(ctx, e, v)
	}
}

// judgeSessionLocked returns whether the condition on the session is met. If the city does not know the session for
// [absentGrace], the condition can never be met; not at once, because a new controller does not know all sessions yet. The caller
// holds mu.
func (w *Service) judgeSessionLocked(e *entry) verdict {
	view, err := w.opts.City.Snapshot(e.Session)
	now := w.opts.Now()
	switch {
	case err == nil:
		e.absentSince = time.Time{}
		v := judge(e.Wait, view)
		if e.recheckAt = w.turnStartDeadline(e, v); !e.recheckAt.IsZero() {
			w.setDueLocked(e.recheckAt)
			return verdict{}
		}
		return v
	case !errors.Is(err, client.ErrNotFound):
		e.absentSince = time.Time{}
	case e.absentSince.IsZero():
		e.absentSince = now
		w.setDueLocked(now.Add(absentGrace))
	case now.Sub(e.absentSince) >= absentGrace && e.For == client.WaitStopped:
		return fulfilled(e.Target + " was removed")
	case now.Sub(e.absentSince) >= absentGrace:
		return failed(e.Target + " was removed")
	}
	return verdict{}
}

// turnStartDeadline returns until when an agent that looks idle may still be about to begin a turn with a delivered prompt, so
// that a wait for idle is not over yet. Zero: the agent is idle.
func (w *Service) turnStartDeadline(e *entry, v verdict) time.Time {
	if e.For != client.WaitIdle || v.state != client.WaitFulfilled {
		return time.Time{}
	}
	if by := w.opts.Prompts.BeginsBy(e.Session); by.After(w.opts.Now()) {
		return by
	}
	return time.Time{}
}

// checkTimers does everything that is due now, such as deadlines and commands of waits. It returns when something is due next;
// zero: never.
func (w *Service) checkTimers(ctx context.Context, jobs *sync.WaitGroup) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.opts.Now()
	if !w.nextAt.IsZero() && !now.Before(w.nextAt) {
		w.nextAt = time.Time{}
		for e := range w.entries {
			w.checkTimerLocked(ctx, jobs, e, now)
			if e.State == client.WaitOpen {
				w.setDueLocked(e.due())
			}
		}
		w.saver.Retry(ctx)
		w.setDueLocked(w.saver.Due())
		w.pruneLocked(ctx, now)
	}
	w.notifyOwnersLocked(ctx, jobs, now)
	return w.nextAt
}

// checkTimerLocked does what is due now for one wait: its time or deadline has come, or its command must run. The caller holds
// mu.
func (w *Service) checkTimerLocked(ctx context.Context, jobs *sync.WaitGroup, e *entry, now time.Time) {
	switch {
	case e.For == client.WaitTime && !e.at.IsZero() && !now.Before(e.at):
		w.endLocked(ctx, e, fulfilled(""))
	case !e.Deadline.IsZero() && !now.Before(e.Deadline):
		w.endLocked(ctx, e, verdict{client.WaitExpired, e.lastOutput})
	case e.For == client.WaitCommand:
		w.startCommandLocked(ctx, jobs, e, now)
	case !e.absentSince.IsZero() || !e.recheckAt.IsZero():
		w.judgeLocked(ctx, e)
	}
}

// due returns when the wait must be checked even if nothing changes. Zero means never.
func (e *entry) due() time.Time {
	at := e.Deadline
	if e.For == client.WaitTime {
		at = engine.Earlier(at, e.at)
	}
	if e.For == client.WaitCommand && !e.busy {
		at = engine.Earlier(at, e.next)
	}
	if !e.absentSince.IsZero() {
		at = engine.Earlier(at, e.absentSince.Add(absentGrace))
	}
	return engine.Earlier(at, e.recheckAt)
}

// setDueLocked makes checkTimers run at the given time at the latest. Zero means never.
func (w *Service) setDueLocked(at time.Time) { w.nextAt = engine.Earlier(w.nextAt, at) }

// endLocked ends a wait. The end of a registered wait is saved before its owner is notified.
func (w *Service) endLocked(ctx context.Context, e *entry, v verdict) {
	e.State, e.Reason, e.EndedAt = v.state, v.reason, w.opts.Now()
	w.dropLocked(e)
	if e.durable {
		e.Notified = e.State == client.WaitCancelled
		w.saveLocked(ctx, e)
		w.emit(ctx, event.WaitEnded, e.Wait, "the wait of "+e.Owner+" until "+sentence(e.Wait)+" was "+e.State, map[string]string{
			"id": e.ID, "for": e.For, "state": e.State, "reason": e.Reason,
		})
		w.setDueLocked(e.EndedAt) // old waits may be deleted now
		w.due.Wake()
	}
	close(e.done)
}

// saveLocked saves a registered wait. If the store fails, it is saved later.
func (w *Service) saveLocked(ctx context.Context, e *entry) {
	w.saver.Save(ctx, e.ID, e.Wait)
	w.setDueLocked(w.saver.Due())
}

// pruneLocked deletes registered waits that ended long ago, and the oldest ended waits if there are
// too many. It deletes only waits whose owners have been notified.
func (w *Service) pruneLocked(ctx context.Context, now time.Time) {
	var ended []*entry
	for _, e := range w.registered {
		if e.State != client.WaitOpen && e.Notified {
			ended = append(ended, e)
		}
	}
	slices.SortFunc(ended, func(a, b *entry) int { return b.EndedAt.Compare(a.EndedAt) })
	for i, e := range ended {
		if i < maxEnded && now.Sub(e.EndedAt) < endedRetention {
			w.setDueLocked(e.EndedAt.Add(endedRetention))
			continue
		}
		if err := w.remove(ctx, e.ID); err != nil {
			w.setDueLocked(now.Add(engine.SaveRetryDelay))
			return
		}
		delete(w.registered, e.ID)
		w.saver.Forget(e.ID)
	}
}

// remove deletes a wait from the store.
func (w *Service) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLimit)
	defer cancel()
	return w.opts.Store.RemoveWait(ctx, id)
}

// followEvents reads the event log until ctx ends, and queues for a check the waits that each event concerns. If events are
// missing, it queues all of them.
func (w *Service) followEvents(ctx context.Context) {
	for id := uint64(0); w.opts.Events.Wait(ctx, id) == nil; {
		events, gap, err := w.opts.Events.After(ctx, id)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.opts.Logger.Error("cannot read the event log", "error", err)
			retry.Sleep(ctx, engine.SaveRetryDelay)
			continue
		}
		if gap {
			w.queueRecords()
		}
		for _, e := range events {
			id = e.ID
			if e.Kind == string(event.EventsDropped) {
				w.queueRecords()
			}
			w.queueNamed(e)
		}
	}
}

// queueNamed queues for a check the waits for receipts and questions whose IDs are in the data of an event. If the event is about
// a prompt, it also queues the waits for its session.
func (w *Service) queueNamed(e client.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, value := range e.Data {
		if key := keyRecord + value; w.byKey[key] != nil {
			w.due.Add(key)
		}
	}
	if key := keySession + e.Session; strings.HasPrefix(e.Kind, "prompt.") && w.byKey[key] != nil {
		w.due.Add(key)
	}
}

// queueRecords queues every receipt and question that a wait depends on.
func (w *Service) queueRecords() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.entries {
		if e.For == client.WaitReceipt || e.For == client.WaitPending {
			w.due.Add(e.key())
		}
	}
}

// emit appends an event about a wait and logs it.
func (w *Service) emit(ctx context.Context, kind event.Kind, k session.Wait, text string, data map[string]string) {
	e := client.Event{Kind: string(kind), Agent: k.Owner, Text: text, Data: data}
	engine.Record(ctx, w.opts.Events, w.opts.Logger, e, "wait", k.ID)
	w.opts.Logger.Info(text, "kind", e.Kind, "agent", k.Owner, "wait", k.ID)
}
