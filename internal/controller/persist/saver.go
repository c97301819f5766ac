// Package persist saves the records of sessions to a store outside of the controller's loop, and loads
// them with a limit: a store that is slow or fails delays nothing else. Failed writes are retried.
package persist

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gascity/internal/domain/session"
)

// Saver brings records to the store outside the loop, in the order in which they
// changed first. A store that fails or hangs delays no caller; a write that
// failed is tried again until it succeeds.
type Saver struct {
	store    session.Store
	history  session.HistoryStore // nil: there is none
	now      func() time.Time
	onResult func(session.Key, uint64, error) // the result of one write; may block

	more chan struct{} // holds a token when there may be something to do
	over chan struct{} // closed by Finish: what is left is written once
	done chan struct{} // closed when Run has returned

	mu    sync.Mutex
	open  map[session.Key]*Change
	queue []session.Key // the keys of open, the oldest change first
	fault error         // of the last attempt, nil if it went well
	lives []session.InstanceRecord
}

// Change is the newest state of a record that the store has not taken.
type Change struct {
	Record  session.Record
	Version uint64
	Remove  bool // the record is to be forgotten

	since time.Time // of the oldest change in it
}

// The times of a [Saver].
const (
	Limit = 5 * time.Second // of one write
	Again = time.Second     // pause after a failure
	Bound = 2 * time.Second // a change that waits longer freezes the city
)

// New returns a saver that does nothing before [Saver.Run], which calls the
// function with the result of each write.
func New(store session.Store, now func() time.Time, told func(session.Key, uint64, error)) *Saver {
	history, _ := store.(session.HistoryStore)
	return &Saver{
		store: store, history: history, now: now, onResult: told, open: map[session.Key]*Change{},
		more: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{}),
	}
}

// Put takes the newest state of a record. It never blocks.
func (s *Saver) Put(next Change) {
	key := next.Record.Key()
	s.mu.Lock()
	next.since = s.now()
	if before := s.open[key]; before != nil {
		next.since = before.since
	} else {
		s.queue = append(s.queue, key)
	}
	s.open[key] = &next
	s.mu.Unlock()
	s.kick()
}

func (s *Saver) kick() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Run writes until Finish is called. The end of ctx cancels a write.
func (s *Saver) Run(ctx context.Context) {
	defer close(s.done)
	for {
		failed := s.writeAll(ctx)
		failed = s.writeLives(ctx) || failed
		var again <-chan time.Time
		if failed {
			again = time.After(Again)
		}
		select {
		case <-s.more:
			if failed { // the pause holds, whatever comes
				select {
				case <-again:
				case <-s.over:
				}
			}
		case <-again:
		case <-s.over:
			s.writeAll(ctx)
			s.writeLives(ctx)
			return
		}
	}
}

// writeAll tries everything once and reports whether something failed.
func (s *Saver) writeAll(ctx context.Context) (failed bool) {
	s.mu.Lock()
	keys := append([]session.Key(nil), s.queue...)
	s.mu.Unlock()
	for _, key := range keys {
		s.mu.Lock()
		next := *s.open[key]
		s.mu.Unlock()
		err := s.write(ctx, next)
		s.mu.Lock()
		if s.fault = err; err == nil && s.open[key].Version == next.Version {
			s.removeLocked(key)
		}
		s.mu.Unlock()
		failed = failed || err != nil
		s.onResult(key, next.Version, err)
		if ctx.Err() != nil {
			return failed
		}
	}
	if failed {
		s.mu.Lock()
		if s.fault == nil { // the last one went well, another did not
			s.fault = fmt.Errorf("%d records were refused", len(s.open))
		}
		s.mu.Unlock()
	}
	return failed
}

func (s *Saver) removeLocked(key session.Key) {
	delete(s.open, key)
	for i, queued := range s.queue {
		if queued == key {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			return
		}
	}
}

func (s *Saver) write(ctx context.Context, next Change) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Limit, fmt.Errorf("no answer within %v", Limit))
	defer cancel()
	if next.Remove {
		return s.store.Remove(ctx, next.Record.Key())
	}
	return s.store.Save(ctx, next.Record)
}

// Health returns why the store cannot be relied on, empty if it can, and when to
// ask again although nothing happens; zero if that is not needed.
func (s *Saver) Health() (fault string, again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return "", time.Time{}
	}
	if s.fault != nil {
		return fmt.Sprintf("the store does not take what changed: %v", s.fault), time.Time{}
	}
	bound := s.open[s.queue[0]].since.Add(Bound)
	if now := s.now(); now.Before(bound) {
		return "", bound
	}
	return fmt.Sprintf("the store has not taken what changed for more than %v", Bound), time.Time{}
}

// Finish writes what is left, once, and returns how many records the store has
// not taken when it is over or the limit has passed.
func (s *Saver) Finish(limit time.Duration) int {
	close(s.over)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// maxLives bounds how many lives wait for a store that fails.
const maxLives = 1000

// PutLife records how an instance ended, for the history. It never blocks; of a
// store that has no history, or fails for long, it is forgotten.
func (s *Saver) PutLife(life session.InstanceRecord) {
	if s.history == nil {
		return
	}
	s.mu.Lock()
	if s.lives = append(s.lives, life); len(s.lives) > maxLives {
		s.lives = slices.Clone(s.lives[len(s.lives)-maxLives:])
	}
	s.mu.Unlock()
	s.kick()
}

// writeLives tries what is left of the history and reports whether it failed.
func (s *Saver) writeLives(ctx context.Context) (failed bool) {
	for {
		s.mu.Lock()
		if len(s.lives) == 0 {
			s.mu.Unlock()
			return false
		}
		life := s.lives[0]
		s.lives = s.lives[1:]
		s.mu.Unlock()
		bounded, cancel := context.WithTimeout(ctx, Limit)
		err := s.history.SaveInstance(bounded, life)
		cancel()
		if err != nil {
			s.mu.Lock()
			s.lives = append([]session.InstanceRecord{life}, s.lives...)
			s.mu.Unlock()
			return true
		}
	}
}
