package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/service/engine"
)

// The loop works at once, at the time that its work returned, and when it is woken, but not without a reason.
func TestLoopWorksWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		woken := engine.NewSignal()
		var calls []bool
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			engine.Loop(ctx, time.Now, woken, func(due bool) time.Time {
				if calls = append(calls, due); len(calls) == 1 {
					return time.Now().Add(time.Minute)
				}
				return time.Time{}
			})
		}()
		time.Sleep(time.Minute + time.Second)
		woken.Wake()
		time.Sleep(1000 * time.Hour)
		cancel()
		<-ended
		if len(calls) != 3 || calls[0] || !calls[1] || calls[2] {
			t.Errorf("work was called with due = %v, want false, true, false", calls)
		}
	})
}

func TestLoadRetriesWhileTheStoreDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries, failures := 0, 0
		damaged := errors.New("one entry is damaged")
		got, err := engine.Load(t.Context(), func(context.Context) (string, error) {
			if tries++; tries < 4 {
				return "", client.ErrUnavailable
			}
			return "entries", damaged
		}, func(error) { failures++ })
		if got != "entries" || !errors.Is(err, damaged) || failures != 3 {
			t.Errorf("Load returned %q, %v after %d failures", got, err, failures)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := engine.Load(ctx, func(context.Context) (int, error) { return 0, client.ErrUnavailable }, func(error) {}); !errors.Is(err, client.ErrUnavailable) || ctx.Err() == nil {
			t.Errorf("Load did not try until the end of its context: %v", err)
		}
	})
}

func TestLifecycle(t *testing.T) {
	l := engine.NewLifecycle()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.WaitLoaded(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitLoaded before the load: %v", err)
	}
	l.SetLoaded()
	l.SetEnded()
	if err := l.WaitLoaded(gone); err != nil {
		t.Errorf("WaitLoaded after the load: %v", err)
	}
	l = engine.NewLifecycle()
	l.SetEnded()
	if err := l.WaitLoaded(t.Context()); !errors.Is(err, engine.ErrEnded) || !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("WaitLoaded of an engine that ended without a load: %v", err)
	}
}
