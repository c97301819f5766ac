package waits

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// silentStore is a store that does not answer the first reads.
type silentStore struct {
	session.WaitStore
	times int
}

func (m *silentStore) LoadWaits(ctx context.Context) ([]session.Wait, error) {
	if m.times--; m.times >= 0 {
		return nil, fmt.Errorf("%w: no answer in time", client.ErrUnavailable)
	}
	return m.WaitStore.LoadWaits(ctx)
}

// Registered waits survive a store that does not answer at the start.
func TestWaitsSurviveAFailedRead(t *testing.T) {
	for _, times := range []int{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCity(t)
			w.agent("a")
			w.agent("me")
			w.run()
			w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me"})
			w.stop()
			w.opts.Store = &silentStore{WaitStore: w.store, times: times}
			w.run()
			advance(5 * time.Minute)
			w.change("a", activity(runtime.ActivityIdle))
			advance(time.Minute)
			if n := len(w.notifications()); n != 1 {
				t.Errorf("after %d failed reads the owner received %d notifications, want 1", times, n)
			}
			w.stop()
			w.opts.Store = &silentStore{WaitStore: w.store, times: 1 << 30}
			w.run() // and ends although the store never answers
		})
	}
}

func TestWaitingCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCity(t)
		w.agent("a")
		w.run()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		idle := client.WaitRequest{Target: "a", For: client.WaitIdle}
		done := make(chan error, maxCalls)
		for range maxCalls {
			go func() {
				_, err := w.waits.Await(ctx, idle)
				done <- err
			}()
		}
		synctest.Wait()
		if _, err := w.waits.Await(ctx, idle); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("one call more: %v", err)
		}
		w.change("a", activity(runtime.ActivityIdle))
		for range maxCalls {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.waits.Await(ctx, idle); err != nil {
			t.Errorf("when they have ended: %v", err)
		}
	})
}
