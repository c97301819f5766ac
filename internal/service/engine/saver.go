package engine

import (
	"context"
	"maps"
	"slices"
	"time"
)

const (
	// saveLimit is the time limit of one save.
	saveLimit = 10 * time.Second
	// SaveRetryDelay is the pause before a failed save is tried again.
	SaveRetryDelay = 5 * time.Second
)

// Saver saves entries in the store. An entry that could not be saved is saved later. Its methods are not safe for concurrent
// use.
type Saver[T any] struct {
	now     func() time.Time
	save    func(ctx context.Context, entry T) error
	failed  func(id string, err error)
	unsaved map[string]T // by ID
	again   time.Time    // when to save them
}

// NewSaver returns a saver that calls save for each entry. It calls failed for the first of several failures.
func NewSaver[T any](now func() time.Time, save func(context.Context, T) error, failed func(id string, err error)) *Saver[T] {
	return &Saver[T]{now: now, save: save, failed: failed, unsaved: map[string]T{}}
}

// Save saves an entry, even if ctx has ended.
func (s *Saver[T]) Save(ctx context.Context, id string, entry T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
	defer cancel()
	err := s.save(ctx, entry)
	if err == nil {
		delete(s.unsaved, id)
		return
	}
	if len(s.unsaved) == 0 {
		s.failed(id, err)
	}
	s.unsaved[id] = entry
	s.again = s.now().Add(SaveRetryDelay)
}

// Retry tries again to save the entries that could not be saved. It does nothing before the time that Due returns, and stops at
// the first failure.
func (s *Saver[T]) Retry(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(s.unsaved)) {
		if s.now().Before(s.again) {
			return
		}
		s.Save(ctx, id, s.unsaved[id])
	}
}

// Due returns when to call Retry; zero: every entry is saved.
func (s *Saver[T]) Due() time.Time {
	if len(s.unsaved) == 0 {
		return time.Time{}
	}
	return s.again
}

// Forget removes an entry from those that are saved later.
func (s *Saver[T]) Forget(id string) { delete(s.unsaved, id) }
