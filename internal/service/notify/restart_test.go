package notify

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
)

// TestUnfinishedWithoutQuestionIsSentAfterRestart: the worker of a new controller knows what is open before it begins.
func TestUnfinishedWithoutQuestionIsSentAfterRestart(t *testing.T) {
	inTown(t, func(_ *testing.T, c *town) {
		x := &fakeSender{answer: hangs}
		c.start(settings(x))
		synctest.Wait()
		c.emit(event.SessionQuarantined, "a")
		synctest.Wait()
		c.stop() // in the middle of the request
		x.answer = nil
		c.events = slowLog{c.events}
		c.start(settings(x))
		time.Sleep(time.Minute)
		c.wantStates("e-1 x sent 1")
	})
}

// slowLog is a log whose reads take a second.
type slowLog struct{ event.Log }

// Page implements event.Log.
func (l slowLog) Page(ctx context.Context, id uint64, limit int) ([]client.Event, error) {
	time.Sleep(time.Second)
	return l.Log.Page(ctx, id, limit)
}

// TestSinkRemovedWhileStopped: a sink that was removed while no controller ran, and is added again later, is a new sink.
func TestSinkRemovedWhileStopped(t *testing.T) {
	for name, meanwhile := range map[string]Settings{
		"another sink": {Sinks: []Sink{{Name: "y", Timeout: time.Second, Sender: &fakeSender{}}}, Rules: []notification.Rule{{Sink: "y"}}},
		"no sink":      {},
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(t *testing.T, c *town) {
				x := &fakeSender{answer: hangs}
				c.start(settings(x))
				synctest.Wait()
				c.emit(event.SessionExited, "a")
				c.ask("b", "?")
				synctest.Wait()
				c.stop() // in the middle of the request
				x.answer, x.sent = nil, nil
				c.start(meanwhile)
				time.Sleep(time.Hour)
				c.engine.Configure(settings(x))
				time.Sleep(time.Hour)
				if got := x.titles(); len(got) > 0 {
					t.Errorf("sent %q", got)
				}
				for _, state := range c.states() {
					if slices.Contains([]string{"e-1 x sending 0", "q-1 x sending 0"}, state) {
						t.Errorf("the ledger has %q", state)
					}
				}
			})
		})
	}
}

// TestRetryTwiceAtOnce: two requests for a failed notification send it once.
func TestRetryTwiceAtOnce(t *testing.T) {
	for range 20 { // the order of goroutines differs
		inTown(t, func(t *testing.T, c *town) {
			x := &fakeSender{answer: func(_ context.Context, try int, _ *Message) error {
				if try == 1 {
					return &SendError{Err: errDown, Final: true}
				}
				return nil
			}}
			c.start(settings(x))
			synctest.Wait()
			c.ask("a", "?")
			synctest.Wait()
			list, err := c.engine.Notifications(t.Context())
			if err != nil || len(list.Notifications) != 1 || list.Notifications[0].State != client.NotifyFailed {
				t.Fatalf("the list is %+v, %v", list, err)
			}
			results := make(chan error)
			for range 4 {
				go func() {
					_, err := c.engine.RetryNotification(t.Context(), list.Notifications[0].ID)
					results <- err
				}()
			}
			done := 0
			for range 4 {
				if err := <-results; err == nil {
					done++
				}
			}
			synctest.Wait()
			if len(x.sent) != 2 || len(x.sent[1].Items) != 1 || done != 1 {
				t.Errorf("%d retries were accepted, sent %+v; want one of each", done, x.sent[1:])
			}
		})
	}
}

// hangs is a service that never answers.
func hangs(ctx context.Context, _ int, _ *Message) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestClockSetBackAfterStart: a question that is asked after the clock was set back is sent, and nothing is sent twice.
func TestClockSetBackAfterStart(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		var back time.Duration
		c.now = func() time.Time { return time.Now().Add(-back) }
		c.start(settings(x))
		synctest.Wait()
		c.ask("a", "?")
		time.Sleep(time.Minute)
		c.stop()
		back = time.Hour
		c.start(settings(x))
		time.Sleep(time.Second)
		c.mu.Lock()
		c.questions = append(c.questions, client.Pending{ID: "q-b", Agent: "b", Session: "s-b", Kind: "question", Since: c.now(), State: client.PendingOpen})
		c.mu.Unlock()
		c.stop()
		c.start(settings(x)) // finds the question
		time.Sleep(time.Minute)
		if got := x.titles(); !slices.Equal(got, []string{"a asks a question", "b asks a question"}) {
			t.Errorf("sent %q", got)
		}
	})
}

// TestSinkRemovedWhileMessageIsPrepared: what is still in preparation is dropped too, each part once.
func TestSinkRemovedWhileMessageIsPrepared(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.delay = time.Second
		c.start(settings(x, func(r *notification.Rule) { r.Batch = 2 * time.Second }))
		synctest.Wait()
		first := c.ask("a", "?")
		c.ask("b", "?")
		c.ask("c", "?")
		time.Sleep(2500 * time.Millisecond) // the first of three questions is read
		c.answer(first)
		time.Sleep(time.Second)
		c.engine.Configure(Settings{})
		time.Sleep(time.Minute)
		c.wantStates("q-1 x dropped 0", "q-2 x dropped 0", "q-3 x dropped 0")
		if len(x.sent) > 0 {
			t.Errorf("sent %q", x.titles())
		}
	})
}

// TestNewSinkAfterClockWasSetBack: the history is not sent to the first sink, although its events are in the future.
func TestNewSinkAfterClockWasSetBack(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.now = func() time.Time { return time.Now().Add(-3 * time.Hour) }
		c.emit(event.SessionExited, "old")
		c.start(settings(x))
		time.Sleep(time.Minute)
		c.emit(event.SessionExited, "new")
		time.Sleep(time.Minute)
		if got := x.titles(); !slices.Equal(got, []string{"new exited"}) {
			t.Errorf("sent %q", got)
		}
	})
}

// TestBudgetEndsWhileStopped: a budget whose period ends while no controller runs is not sent later.
func TestBudgetEndsWhileStopped(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		late := settings(x, func(r *notification.Rule) { r.For = time.Hour })
		c.start(late)
		synctest.Wait()
		until := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339) }
		c.emit(event.BudgetExceeded, "a", "budget", "hour", "act", "stop", "until", until(30*time.Minute))
		c.emit(event.BudgetExceeded, "b", "budget", "day", "act", "stop", "until", until(24*time.Hour))
		synctest.Wait()
		c.stop()
		time.Sleep(50 * time.Minute)
		c.start(late)
		time.Sleep(time.Hour)
		if got := x.titles(); !slices.Equal(got, []string{"the budget day is used up"}) {
			t.Errorf("sent %q", got)
		}
	})
}

// slowStore needs 100 ms to save the state.
type slowStore struct {
	notification.Store
	saves int
}

// SaveNotificationState implements notification.Store.
func (s *slowStore) SaveNotificationState(ctx context.Context, state notification.State) error {
	time.Sleep(100 * time.Millisecond)
	s.saves++
	return s.Store.SaveNotificationState(ctx, state)
}

// TestSlowSavesArePaused: while a save of the state takes long, it is saved once a second, and everything at the end.
func TestSlowSavesArePaused(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		store := &slowStore{Store: c.store}
		e := New(Options{City: c, Store: store, Events: c.events, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Link: noLink, Root: "/city", Secrets: c.secrets})
		e.Configure(settings(&fakeSender{}, func(r *notification.Rule) { r.For = time.Hour }))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		time.Sleep(time.Second)
		for range 100 {
			c.ask("a", "?")
			time.Sleep(100 * time.Millisecond)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		state, err := c.store.NotificationState(context.WithoutCancel(ctx))
		if err != nil || len(state.Open) != 100 || store.saves > 15 {
			t.Errorf("%d open subjects after %d saves, %v; want 100 after at most 15", len(state.Open), store.saves, err)
		}
	})
}
