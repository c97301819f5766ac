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
)

// Run keeps the waits until ctx ends, and returns nil when what it started has
// ended too. It is called once.
func (w *Service) Run(ctx context.Context) error {
	defer close(w.ended)
	if !w.load(ctx) {
		return nil
	}
	close(w.loaded)
	var jobs sync.WaitGroup
	defer jobs.Wait()
	jobs.Go(func() { w.follow(ctx) })
	for {
		for _, key := range w.due.PopAll() {
			w.evaluate(ctx, key)
		}
		timer := time.NewTimer(w.checkTimers(ctx, &jobs))
		select {
		case <-w.due.Woken():
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// load reads the store; it is false if ctx ended first. A wait that makes no sense
// is left out.
func (w *Service) load(ctx context.Context) bool {
	kept, err := w.read(ctx)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		w.opts.Logger.Warn("some waits cannot be read", "error", err)
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
			e.at, _ = parseTime(e.Arg, e.CreatedAt) // it was checked when it was registered; else the deadline ends it
		case client.WaitCommand:
			e.next, e.gap = w.opts.Now(), firstGap
		}
		w.putLocked(e)
	}
	w.nextAt = w.opts.Now()
	return true
}

const (
	// minReadRetry and maxReadRetry space the tries to read a store that does not answer.
	minReadRetry = 100 * time.Millisecond
	maxReadRetry = 5 * time.Second
)

// read returns what the store keeps, however often it does not answer, until ctx
// ends.
func (w *Service) read(ctx context.Context) ([]session.Wait, error) {
	for gap := minReadRetry; ; gap = min(2*gap, maxReadRetry) {
		kept, err := w.opts.Store.LoadWaits(ctx)
		if !errors.Is(err, client.ErrUnavailable) {
			return kept, err
		}
		w.opts.Logger.Warn("the waits cannot be read yet", "error", err)
		select {
		case <-time.After(gap):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// evaluate looks at what depends on a key.
func (w *Service) evaluate(ctx context.Context, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.byKey[key] {
		w.judgeLocked(ctx, e)
	}
}

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

// judgeSessionLocked judges a condition about a session. One that the city does
// not know is removed only after a time: a controller that has just begun does
// not know everything yet.
func (w *Service) judgeSessionLocked(e *entry) verdict {
	view, err := w.opts.City.Snapshot(e.Session)
	now := w.opts.Now()
	switch {
	case err == nil:
		e.absentSince = time.Time{}
		v := judge(e.Wait, view)
		if e.recheckAt = w.turnStartDeadline(e, v); !e.recheckAt.IsZero() {
			w.dueLocked(e.recheckAt)
			return verdict{}
		}
		return v
	case !errors.Is(err, client.ErrNotFound):
		e.absentSince = time.Time{}
	case e.absentSince.IsZero():
		e.absentSince = now
		w.dueLocked(now.Add(absentGrace))
	case now.Sub(e.absentSince) >= absentGrace && e.For == client.WaitStopped:
		return fulfilled(e.Target + " was removed")
	case now.Sub(e.absentSince) >= absentGrace:
		return failed(e.Target + " was removed")
	}
	return verdict{}
}

// turnStartDeadline is until when an agent that is idle by all that is read may not have begun yet with
// what it was given a moment ago; zero: it is idle.
func (w *Service) turnStartDeadline(e *entry, v verdict) time.Time {
	if e.For != client.WaitIdle || v.state != client.WaitFulfilled {
		return time.Time{}
	}
	if by := w.opts.Prompts.BeginsBy(e.Session); by.After(w.opts.Now()) {
		return by
	}
	return time.Time{}
}

// checkTimers does what the time has come for, and returns how long nothing is due.
func (w *Service) checkTimers(ctx context.Context, jobs *sync.WaitGroup) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.opts.Now()
	if !w.nextAt.IsZero() && !now.Before(w.nextAt) {
		w.nextAt = time.Time{}
		for e := range w.entries {
			w.checkTimerLocked(ctx, jobs, e, now)
			if e.State == client.WaitOpen {
				w.dueLocked(e.due())
			}
		}
		w.saveAllLocked(ctx)
		w.pruneLocked(ctx, now)
	}
	w.notifyOwnersLocked(ctx, jobs, now)
	if w.nextAt.IsZero() {
		return maxPause
	}
	return max(0, w.nextAt.Sub(now))
}

func (w *Service) checkTimerLocked(ctx context.Context, jobs *sync.WaitGroup, e *entry, now time.Time) {
	switch {
	case e.For == client.WaitTime && !e.at.IsZero() && !now.Before(e.at):
		w.endLocked(ctx, e, fulfilled(""))
	case !e.Deadline.IsZero() && !now.Before(e.Deadline):
		w.endLocked(ctx, e, verdict{client.WaitExpired, e.lastOutput})
	case e.For == client.WaitCommand:
		w.commandLocked(ctx, jobs, e, now)
	case !e.absentSince.IsZero() || !e.recheckAt.IsZero():
		w.judgeLocked(ctx, e)
	}
}

// due returns when the entry is to be looked at although nothing happens; zero is
// never.
func (e *entry) due() time.Time {
	at := e.Deadline
	if e.For == client.WaitTime {
		at = earlier(at, e.at)
	}
	if e.For == client.WaitCommand && !e.busy {
		at = earlier(at, e.next)
	}
	if !e.absentSince.IsZero() {
		at = earlier(at, e.absentSince.Add(absentGrace))
	}
	at = earlier(at, e.recheckAt)
	return at
}

func (w *Service) dueLocked(at time.Time) { w.nextAt = earlier(w.nextAt, at) }

// earlier returns the earlier time; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// endLocked ends a wait. The end of a registered one is durable before its owner
// is notified.
func (w *Service) endLocked(ctx context.Context, e *entry, v verdict) {
	e.State, e.Reason, e.EndedAt = v.state, v.reason, w.opts.Now()
	w.dropLocked(e)
	if e.durable {
		e.Notified = e.State == client.WaitCancelled
		w.saveLocked(ctx, e)
		w.emit(event.WaitEnded, e.Wait, "the wait of "+e.Owner+" until "+sentence(e.Wait)+" was "+e.State, map[string]string{
			"id": e.ID, "for": e.For, "state": e.State, "reason": e.Reason,
		})
		w.dueLocked(e.EndedAt) // some may be forgotten now
		w.due.Wake()
	}
	close(e.done)
}

// saveLocked makes a change of a registered wait durable, later if the store
// does not take it now.
func (w *Service) saveLocked(ctx context.Context, e *entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer cancel()
	if err := w.opts.Store.SaveWait(ctx, e.Wait); err != nil {
		if len(w.unsaved) == 0 {
			w.opts.Logger.Error("cannot keep a wait", "wait", e.ID, "error", err)
		}
		w.unsaved[e.ID] = struct{}{}
		w.dueLocked(w.opts.Now().Add(saveRetryDelay))
		return
	}
	delete(w.unsaved, e.ID)
}

const saveRetryDelay = 5 * time.Second

func (w *Service) saveAllLocked(ctx context.Context) {
	for id := range w.unsaved {
		w.saveLocked(ctx, w.registered[id])
		if _, still := w.unsaved[id]; still {
			return
		}
	}
}

// pruneLocked forgets registered waits whose end is long ago, and the oldest ends
// of many. Their owners have been notified.
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
			w.dueLocked(e.EndedAt.Add(endedRetention))
			continue
		}
		if err := w.remove(ctx, e.ID); err != nil {
			w.dueLocked(now.Add(saveRetryDelay))
			return
		}
		delete(w.registered, e.ID)
		delete(w.unsaved, e.ID)
	}
}

func (w *Service) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer cancel()
	return w.opts.Store.RemoveWait(ctx, id)
}

// follow looks at receipts and questions that events name, and at all of them when events are missing.
func (w *Service) follow(ctx context.Context) {
	for id := uint64(0); w.opts.Events.Wait(ctx, id) == nil; {
		events, gap, err := w.opts.Events.After(id)
		if err != nil {
			w.opts.Logger.Error("cannot follow the events", "error", err)
			select {
			case <-time.After(saveRetryDelay):
			case <-ctx.Done():
			}
			continue
		}
		if gap {
			w.markThings()
		}
		for _, e := range events {
			id = e.ID
			if e.Kind == string(event.EventsDropped) {
				w.markThings()
			}
			w.named(e)
		}
	}
}

// named marks what an event names by any of its data, and whose prompt has come further.
func (w *Service) named(e client.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, value := range e.Data {
		if key := keyThing + value; w.byKey[key] != nil {
			w.due.Add(key)
		}
	}
	if key := keySession + e.Session; strings.HasPrefix(e.Kind, "prompt.") && w.byKey[key] != nil {
		w.due.Add(key)
	}
}

func (w *Service) markThings() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := range w.entries {
		if e.For == client.WaitReceipt || e.For == client.WaitPending {
			w.due.Add(e.key())
		}
	}
}

func (w *Service) emit(kind event.Kind, k session.Wait, text string, data map[string]string) {
	e := client.Event{Kind: string(kind), Agent: k.Owner, Text: text, Data: data}
	if _, err := w.opts.Events.Append(e); err != nil {
		w.opts.Logger.Error("cannot keep an event", "kind", e.Kind, "error", err)
	}
	w.opts.Logger.Info(text, "kind", e.Kind, "agent", k.Owner, "wait", k.ID)
}
