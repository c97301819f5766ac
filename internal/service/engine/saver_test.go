package engine_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"gascity/internal/service/engine"
)

// An entry that could not be saved is saved later, as it was saved last; the first of several failures is reported.
func TestSaverTriesAgain(t *testing.T) {
	now := time.Unix(1000, 0)
	stored, failures, broken := map[string]int{}, 0, true
	type entry struct {
		id string
		n  int
	}
	s := engine.NewSaver(func() time.Time { return now }, func(ctx context.Context, e entry) error {
		if ctx.Err() != nil || broken {
			return errors.New("the store fails")
		}
		stored[e.id] = e.n
		return nil
	}, func(string, error) { failures++ })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i, id := range []string{"a", "b", "a", "c"} {
		s.Save(gone, id, entry{id, i})
	}
	s.Forget("c")
	if at := now.Add(engine.SaveRetryDelay); failures != 1 || !s.Due().Equal(at) {
		t.Errorf("%d failures were reported, and the next try is at %v", failures, s.Due())
	}
	broken = false
	if s.Retry(gone); len(stored) != 0 {
		t.Errorf("%v was saved before the time", stored)
	}
	now = s.Due()
	if s.Retry(gone); !maps.Equal(stored, map[string]int{"a": 2, "b": 1}) || !s.Due().IsZero() {
		t.Errorf("%v is stored, and the next try is at %v", stored, s.Due())
	}
}
