package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/service/engine"
)

// recordSaver writes records to the store outside the loop, in the order of their first unsaved
// change. A failing or hanging store delays no caller. The saver retries a failed write until it
// succeeds.
type recordSaver struct {
	store    session.Store
	now      func() time.Time
	onResult func(session.Key, uint64, error) // receives the result of each write; may block

	more engine.Signal // there may be something to write
	over chan struct{} // closed by Finish: the rest is written once
	done chan struct{} // closed when Run has returned

	mu    sync.Mutex
	queue []*unsavedRecord // one for each record, the oldest change first
	fault error            // error of the last attempt; nil: it succeeded
}

// unsavedRecord is the newest state of a record that the store has not saved.
type unsavedRecord struct {
	Record  session.Record
	Version uint64
	Remove  bool // the record must be removed

	since time.Time // time of the oldest unsaved change
}

// The time limits of a [recordSaver].
const (
	storeTimeout    = 5 * time.Second // of one write
	storeRetryDelay = time.Second     // pause after a failure
	maxUnsavedAge   = 2 * time.Second // an unsaved change that is older is a fault of the store
)

// newRecordSaver returns a saver. [recordSaver.Run] does the writes and calls onResult with the
// result of each.
func newRecordSaver(store session.Store, now func() time.Time, onResult func(session.Key, uint64, error)) *recordSaver {
	return &recordSaver{
		store: store, now: now, onResult: onResult, more: engine.NewSignal(), over: make(chan struct{}), done: make(chan struct{}),
	}
}

// Put queues the newest state of a record. It never blocks.
func (s *recordSaver) Put(next unsavedRecord) {
	key := next.Record.Key()
	s.mu.Lock()
	if i := slices.IndexFunc(s.queue, func(u *unsavedRecord) bool { return u.Record.Key() == key }); i >= 0 {
		next.since = s.queue[i].since
		*s.queue[i] = next
	} else {
		next.since = s.now()
		s.queue = append(s.queue, &next)
	}
	s.mu.Unlock()
	s.more.Wake()
}

// Run writes queued records until Finish is called. The end of ctx cancels a write.
func (s *recordSaver) Run(ctx context.Context) {
	defer close(s.done)
	for {
		failed := s.writeAll(ctx)
		var again <-chan time.Time
		if failed {
			again = time.After(storeRetryDelay)
		}
		select {
		case <-s.more:
			if failed { // new changes do not shorten the pause
				select {
				case <-again:
				case <-s.over:
				}
			}
		case <-again:
		case <-s.over:
			s.writeAll(ctx)
			return
		}
	}
}

// writeAll tries to write every queued record once. It returns true if a write failed; that record
// stays in the queue.
func (s *recordSaver) writeAll(ctx context.Context) (failed bool) {
	s.mu.Lock()
	queue := slices.Clone(s.queue)
	s.mu.Unlock()
	for _, u := range queue {
		s.mu.Lock()
		next := *u
		s.mu.Unlock()
		err := s.write(ctx, next)
		s.mu.Lock()
		if s.fault = err; err == nil && u.Version == next.Version {
			s.queue = slices.DeleteFunc(s.queue, func(queued *unsavedRecord) bool { return queued == u })
		}
		s.mu.Unlock()
		failed = failed || err != nil
		s.onResult(next.Record.Key(), next.Version, err)
		if ctx.Err() != nil {
			return failed
		}
	}
	if failed {
		s.mu.Lock()
		if s.fault == nil { // the last write succeeded, but another failed
			s.fault = fmt.Errorf("%d records could not be saved", len(s.queue))
		}
		s.mu.Unlock()
	}
	return failed
}

// write saves or removes one record, within [storeTimeout].
func (s *recordSaver) write(ctx context.Context, next unsavedRecord) error {
	ctx, cancel := context.WithTimeoutCause(ctx, storeTimeout, fmt.Errorf("no answer within %v", storeTimeout))
	defer cancel()
	if next.Remove {
		return s.store.Remove(ctx, next.Record.Key())
	}
	return s.store.Save(ctx, next.Record)
}

// Health returns why the store fails; empty if it works. A change that was not saved for
// [maxUnsavedAge] counts as a failure. again is the time at which the result may change by that
// rule alone; zero: never.
func (s *recordSaver) Health() (fault string, again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return "", time.Time{}
	}
	if s.fault != nil {
		return fmt.Sprintf("the store cannot save changes: %v", s.fault), time.Time{}
	}
	bound := s.queue[0].since.Add(maxUnsavedAge)
	if now := s.now(); now.Before(bound) {
		return "", bound
	}
	return fmt.Sprintf("the store has not saved a change for more than %v", maxUnsavedAge), time.Time{}
}

// Finish makes one last attempt to write the queued records, ends Run, and returns the number of
// records that were not saved. It waits no longer than [storeTimeout].
func (s *recordSaver) Finish() int {
	close(s.over)
	timer := time.NewTimer(storeTimeout)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}
