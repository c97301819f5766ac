package waits

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/runtime"
	"gascity/test/servicetest"
	"gascity/test/storetest"
)

// Registered waits survive a store that fails at the start.
func TestWaitsSurviveAFailedRead(t *testing.T) {
	for _, outage := range []time.Duration{0, time.Minute} { // 0: only the first read fails
		synctest.Test(t, func(t *testing.T) {
			w := newServiceTest(t)
			w.agent("a")
			w.agent("me")
			w.run()
			w.add(client.WaitRequest{Target: "a", For: client.WaitIdle, Owner: "me"})
			w.Stop()
			w.Store.Set(storetest.Fails)
			w.run()
			servicetest.Advance(outage)
			w.Store.Set(storetest.Works)
			servicetest.Advance(5 * time.Minute)
			w.Change("a", activity(runtime.ActivityIdle))
			servicetest.Advance(time.Minute)
			if n := len(w.prompts.Accepted()); n != 1 {
				t.Errorf("after an outage of %v the owner received %d notifications, want 1", outage, n)
			}
			w.Stop()
			w.Store.Set(storetest.Fails)
			w.run() // and it exits although no read succeeds
		})
	}
}

func TestWaitingCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
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
		w.Change("a", activity(runtime.ActivityIdle))
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

// slowLog is an event log whose reads end only with their context.
type slowLog struct{ event.Log }

// Wait returns at once, as if there were an event.
func (slowLog) Wait(ctx context.Context, _ uint64) error { return context.Cause(ctx) }

func (slowLog) After(ctx context.Context, _ uint64) ([]client.Event, bool, error) {
	<-ctx.Done()
	return nil, false, context.Cause(ctx)
}

// The end of the service during a read of the event log is not an error.
func TestStopDuringAReadIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newServiceTest(t)
		var logged strings.Builder
		w.opts.Events, w.opts.Logger = slowLog{w.Log}, slog.New(slog.NewTextHandler(&logged, nil))
		w.run()
		synctest.Wait()
		w.Stop()
		if logged.Len() > 0 {
			t.Errorf("the service logged: %s", &logged)
		}
	})
}
