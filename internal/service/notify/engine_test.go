package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
	"gascity/test/storetest"
)

func TestQuestionIsSentOnceAndWithItsOptions(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.start(settings(x))
		synctest.Wait()
		c.ask("a", "Delete it?")
		synctest.Wait()
		if len(x.sent) != 1 || x.sent[0].Title != "a asks a question" || x.sent[0].Text != "Delete it?\n1. Yes\n2. No\ngc respond q-1 …" || !x.sent[0].Urgent {
			t.Fatalf("sent %+v", x.sent)
		}
		c.wantStates("q-1 x sent 1")
		for range 3 { // restarts
			c.stop()
			c.start(settings(x))
			synctest.Wait()
		}
		time.Sleep(100 * time.Hour)
		c.answer("q-1")
		synctest.Wait()
		if len(x.sent) != 1 {
			t.Errorf("after restarts it was sent %d times", len(x.sent))
		}
	})
}

func TestAnsweredQuestionIsNotSent(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.start(settings(x, func(r *notification.Rule) { r.For = 10 * time.Second }))
		synctest.Wait()
		fast := c.ask("a", "fast")
		c.ask("b", "slow")
		time.Sleep(5 * time.Second)
		c.answer(fast)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := x.titles(); !slices.Equal(got, []string{"b asks a question"}) {
			t.Errorf("sent %q", got)
		}
	})
}

// TestNewSinkGetsNoHistory: neither the first start nor a sink that is added later sends what was before.
// TestQuestionBeforeTheFirstConfigurationIsSent checks that a sink gets the question of an agent that asked right after the start of
// the controller, and not what was asked before that.
func TestQuestionBeforeTheFirstConfigurationIsSent(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		c.ask("a", "before the start")
		c.emit(event.SessionExited, "b")
		time.Sleep(time.Second)
		c.early = func() {
			time.Sleep(time.Second)
			c.ask("c", "Continue?")
			time.Sleep(time.Second)
		}
		x := &fakeSender{}
		c.start(settings(x))
		time.Sleep(time.Minute)
		if got := x.titles(); len(got) != 1 || !strings.Contains(got[0], "c asks") {
			t.Errorf("sent %q, want the question of c", got)
		}
	})
}

func TestNewSinkGetsNoHistory(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x, y := &fakeSender{}, &fakeSender{}
		for range 20 {
			c.ask("a", "old")
			c.emit(event.SessionExited, "b")
		}
		time.Sleep(time.Second)
		c.start(settings(x))
		time.Sleep(time.Second)
		if len(x.sent) != 0 {
			t.Fatalf("the first start sent %d", len(x.sent))
		}
		c.ask("a", "new")
		time.Sleep(time.Second)
		both := settings(x)
		both.Sinks = append(both.Sinks, Sink{Name: "y", Timeout: time.Second, Sender: y})
		both.Rules = append(both.Rules, notification.Rule{Sink: "y", Kinds: both.Rules[0].Kinds})
		c.engine.Configure(both)
		time.Sleep(time.Second)
		c.ask("a", "newest")
		time.Sleep(time.Second)
		synctest.Wait()
		if len(x.sent) != 2 || len(y.sent) != 1 {
			t.Errorf("the old sink got %d, the new one %d; want 2 and 1", len(x.sent), len(y.sent))
		}
		// Without sinks, also over a restart, and with the same sink again.
		c.engine.Configure(Settings{})
		time.Sleep(time.Second)
		c.stop()
		c.start(Settings{})
		c.ask("a", "while there is none")
		time.Sleep(time.Second)
		c.engine.Configure(settings(x))
		time.Sleep(time.Second)
		if len(x.sent) != 2 {
			t.Errorf("a sink that was removed and added again got %q", x.titles())
		}
	})
}

// TestLostEventIsFound: a question whose event was lost by a kill is sent by the next controller, and one that was answered
// meanwhile is not.
func TestLostEventIsFound(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		late := settings(x, func(r *notification.Rule) { r.For = time.Minute })
		c.start(late)
		time.Sleep(time.Second)
		over := c.ask("a", "over")
		time.Sleep(time.Second)
		c.stop()
		c.askUnreported("b", "its event is lost")
		c.mu.Lock()
		for i := range c.questions {
			if c.questions[i].ID == over {
				c.questions[i].State = client.PendingAnswered // without an event
			}
		}
		c.mu.Unlock()
		c.start(late)
		time.Sleep(2 * time.Minute)
		if got := x.titles(); !slices.Equal(got, []string{"b asks a question"}) {
			t.Errorf("sent %q", got)
		}
	})
}

// TestCursorBeyondTheLog: after a kill that lost the last events the cursor is beyond the newest event. The history is not read
// again, and new events are.
func TestCursorBeyondTheLog(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		for range 5 {
			c.emit(event.SessionExited, "old")
		}
		sinks := map[string]time.Time{"x": time.Now().Add(-time.Hour)}
		if err := c.store.SaveNotificationState(t.Context(), notification.State{Cursor: 1000, Sinks: sinks}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		c.start(settings(x))
		time.Sleep(time.Second)
		c.emit(event.SessionExited, "new")
		time.Sleep(time.Second)
		if got := x.titles(); !slices.Equal(got, []string{"new exited"}) {
			t.Errorf("sent %q", got)
		}
	})
}

// TestUnconfirmedIsRepeatedWithItsID: after an end between request and answer the next controller sends the same id.
func TestUnconfirmedIsRepeatedWithItsID(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		hang := true
		x := &fakeSender{answer: func(ctx context.Context, _ int, _ *Message) error {
			if hang {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		c.start(settings(x))
		synctest.Wait()
		c.ask("a", "?")
		synctest.Wait()
		c.stop() // in the middle of the request
		c.wantStates("q-1 x sending 0")
		hang = false
		c.start(settings(x))
		synctest.Wait()
		if len(x.sent) != 2 || x.sent[0].ID != x.sent[1].ID {
			t.Errorf("sent %+v, want twice the same id", x.sent)
		}
		c.wantStates("q-1 x sent 1")
	})
}

func TestFailuresAreTriedAgain(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		var times []time.Time
		x := &fakeSender{answer: func(_ context.Context, try int, _ *Message) error {
			times = append(times, time.Now())
			switch {
			case try == 2:
				return &SendError{Err: errDown, After: 10 * time.Minute}
			case try < 5:
				return errDown
			}
			return nil
		}}
		c.start(settings(x))
		synctest.Wait()
		c.ask("a", "?")
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if len(times) != 5 || times[1].Sub(times[0]) > 2*time.Second || times[2].Sub(times[1]) < 10*time.Minute {
			t.Errorf("tries at %v", times)
		}
		c.wantStates("q-1 x sent 5")
	})
}

// TestLongDelayOfAService: a service can ask for a delay of an hour, not of days.
func TestLongDelayOfAService(t *testing.T) {
	inTown(t, func(_ *testing.T, c *town) {
		x := &fakeSender{answer: func(_ context.Context, try int, _ *Message) error {
			if try == 1 {
				return &SendError{Err: errDown, After: 1000 * time.Hour}
			}
			return nil
		}}
		c.start(settings(x))
		synctest.Wait()
		c.ask("a", "?")
		time.Sleep(maxAfter - time.Second)
		c.wantStates("q-1 x sending 1")
		time.Sleep(time.Minute)
		c.wantStates("q-1 x sent 2")
	})
}

// TestReloadRespectsRetryAfter: a change of the configuration does not end a delay that the service asked for, and ends one of gc.
// Another account of the service has no delay.
func TestReloadRespectsRetryAfter(t *testing.T) {
	other := account{service: config.NotifySlack, url: config.ParseSecret("https://other.example.org/hook")}
	for name, c := range map[string]struct {
		after   time.Duration
		account account
		want    time.Duration // the delay of the second try
	}{
		"the service asked":   {time.Minute, account{}, time.Minute},
		"another account":     {time.Minute, other, 10 * time.Millisecond},
		"the service is down": {0, account{}, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(t *testing.T, v *town) {
				var mu sync.Mutex
				var times []time.Time
				x := &fakeSender{answer: func(_ context.Context, try int, _ *Message) error {
					mu.Lock()
					times = append(times, time.Now())
					mu.Unlock()
					if try == 1 {
						return &SendError{Err: errDown, After: c.after}
					}
					return nil
				}}
				v.start(settings(x))
				synctest.Wait()
				v.ask("a", "?")
				synctest.Wait()
				time.Sleep(10 * time.Millisecond)
				changed := settings(x)
				changed.Sinks[0].account = c.account
				v.engine.Configure(changed)
				time.Sleep(time.Hour)
				mu.Lock()
				defer mu.Unlock()
				if len(times) != 2 || times[1].Sub(times[0]) != c.want {
					t.Errorf("tries at %v, want the second after %v", times, c.want)
				}
			})
		})
	}
}

func TestFinalErrorsAndOldMessagesFail(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{answer: func(_ context.Context, _ int, m *Message) error {
			if m.Items[0].Agent == "a" {
				return &SendError{Err: errDown, Final: true}
			}
			return errDown
		}}
		c.start(settings(x))
		synctest.Wait()
		c.ask("a", "?")
		c.ask("b", "?")
		c.ask("c", "?")
		time.Sleep(time.Hour)
		c.answer("q-3")
		time.Sleep(30 * time.Hour)
		got := c.states()
		if len(got) != 3 || got[0] != "q-1 x failed 1" || !strings.HasPrefix(got[1], "q-2 x failed ") || !strings.HasPrefix(got[2], "q-3 x dropped ") {
			t.Errorf("the ledger is %q", got)
		}
		events, _, err := c.events.After(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, e := range events {
			if e.Kind == string(event.NotifyFailed) {
				failed++
			}
		}
		if failed != 2 {
			t.Errorf("%d events about failures, want 2", failed)
		}
		list, err := c.engine.Notifications(t.Context())
		if err != nil || len(list.Notifications) != 3 || list.Sinks[0].Error == "" || list.Sinks[0].Waiting != 0 {
			t.Errorf("the list is %+v, %v", list, err)
		}
		x.answer = nil
		if n, err := c.engine.RetryNotification(t.Context(), list.Notifications[slices.IndexFunc(list.Notifications, func(n client.Notification) bool { return n.Agent == "a" })].ID); err != nil || n.State != client.NotifySending {
			t.Errorf("the retry: %+v, %v", n, err)
		}
		time.Sleep(time.Hour)
		if got := c.states(); got[0] != "q-1 x sent 2" {
			t.Errorf("after the retry: %q", got)
		}
	})
}

// TestDeadSinkDelaysNoOther: a sink that hangs for ever delays neither another sink nor the end.
func TestDeadSinkDelaysNoOther(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		dead := &fakeSender{answer: func(ctx context.Context, _ int, _ *Message) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		y := &fakeSender{}
		s := settings(dead)
		s.Sinks = append(s.Sinks, Sink{Name: "y", Timeout: time.Second, Sender: y})
		s.Rules = append(s.Rules, notification.Rule{Sink: "y", Kinds: s.Rules[0].Kinds})
		c.start(s)
		synctest.Wait()
		for i := range 10 {
			c.ask(fmt.Sprint("a", i), "?")
			synctest.Wait()
		}
		if len(y.sent) != 10 {
			t.Errorf("the other sink got %d of 10 at once", len(y.sent))
		}
		list, err := c.engine.Notifications(t.Context())
		if err != nil || list.Sinks[0].Waiting != 10 {
			t.Errorf("the dead sink has %+v waiting, %v", list.Sinks, err)
		}
	})
}

// TestPoisonedMessageBlocksNoOther: a message that the service never accepts does not block the later ones.
func TestPoisonedMessageBlocksNoOther(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{answer: func(_ context.Context, _ int, m *Message) error {
			if m.Items[0].Agent == "poison" {
				return errDown
			}
			return nil
		}}
		c.start(settings(x))
		synctest.Wait()
		c.ask("poison", "?")
		synctest.Wait()
		for i := range 5 {
			c.ask(fmt.Sprint("a", i), "?")
			time.Sleep(10 * time.Second)
		}
		for i := range 5 {
			if got := c.states(); !slices.Contains(got, fmt.Sprintf("q-%d x sent 1", i+2)) {
				t.Errorf("a%d was not sent: %q", i, got)
			}
		}
	})
}

func TestManyAtOnceAreOneMessage(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.start(settings(x, func(r *notification.Rule) { r.Batch = 5 * time.Second }))
		synctest.Wait()
		for i := range 5 {
			c.ask(fmt.Sprint("a", i), "?")
		}
		time.Sleep(time.Second)
		c.answer("q-2")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(x.sent) != 1 || x.sent[0].Title != "4 agents need you" || len(x.sent[0].Items) != 4 {
			t.Errorf("sent %+v", x.sent)
		}
		c.wantStates("q-1 x sent 1", "q-3 x sent 1", "q-4 x sent 1", "q-5 x sent 1")
	})
}

func TestAttachedTerminalAndTurns(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.attached["s-a"] = true
		c.start(settings(x, func(r *notification.Rule) { r.MinTurn = time.Minute }))
		synctest.Wait()
		c.ask("a", "?")
		for _, d := range []time.Duration{time.Second, time.Hour} {
			c.emit(event.SessionActivity, "b", "activity", "busy")
			time.Sleep(d)
			c.emit(event.SessionActivity, "b", "activity", "idle")
			time.Sleep(time.Second)
		}
		if got := x.titles(); !slices.Equal(got, []string{"b finished a turn of 1h"}) {
			t.Errorf("while attached: %q", got)
		}
		c.mu.Lock()
		c.attached["s-a"] = false
		c.mu.Unlock()
		c.emit(event.SessionDetached, "a", "attached", "0")
		time.Sleep(time.Second)
		if got := x.titles(); len(got) != 2 || got[1] != "a asks a question" {
			t.Errorf("after the detach: %q", got)
		}
	})
}

// TestPresence: while a person sees all agents nothing is sent. Afterwards what still needs the person is.
func TestPresence(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.start(settings(x))
		synctest.Wait()
		seeing, leave := context.WithCancel(t.Context())
		again, leaveAgain := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{seeing, again} {
			if err := c.engine.Present(ctx); err != nil {
				t.Fatal(err)
			}
		}
		c.ask("a", "?")
		answered := c.ask("b", "?")
		c.emit(event.SessionExited, "d")
		time.Sleep(time.Hour)
		c.answer(answered)
		leave()
		time.Sleep(time.Hour)
		if list, err := c.engine.Notifications(t.Context()); err != nil || list.Present != 1 || len(list.Notifications) != 0 {
			t.Errorf("while a person sees the agents: %+v, %v", list, err)
		}
		leaveAgain()
		time.Sleep(time.Second)
		if got := x.titles(); !slices.Equal(got, []string{"a asks a question"}) {
			t.Errorf("afterwards: %q", got)
		}
	})
}

// TestStoreFaults: nothing is sent before it is saved, and nothing that was confirmed is sent again.
func TestStoreFaults(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{answer: func(context.Context, int, *Message) error {
			c.store.Set(storetest.FailsWrites) // the result cannot be saved
			return nil
		}}
		c.start(settings(x))
		synctest.Wait()
		c.store.Set(storetest.FailsWrites)
		c.ask("a", "?")
		time.Sleep(time.Minute)
		if len(x.sent) != 0 {
			t.Fatalf("sent %d before they were saved", len(x.sent))
		}
		c.store.Set(storetest.Works)
		time.Sleep(time.Minute)
		c.wantStates("q-1 x sending 0")
		c.store.Set(storetest.Works)
		time.Sleep(time.Minute)
		c.wantStates("q-1 x sent 1")
		if len(x.sent) != 1 {
			t.Errorf("sent %d times", len(x.sent))
		}
	})
}

// TestEndWithUnreadEvents: the engine ends although it has not read the last events.
func TestEndWithUnreadEvents(t *testing.T) {
	inTown(t, func(_ *testing.T, c *town) {
		c.start(settings(&fakeSender{}))
		synctest.Wait()
		c.store.Set(storetest.Hangs)
		c.ask("a", "?") // the goroutine of Run waits for the store
		synctest.Wait()
		c.ask("a", "?")
		synctest.Wait()
		c.store.Set(storetest.Fails)
		c.stop()
	})
}

// TestNothingRunsWithoutSinks: without a sink no event is read and nothing is written.
func TestNothingRunsWithoutSinks(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		log := &countingLog{Log: c.events}
		c.events = log
		c.start(Settings{})
		synctest.Wait()
		for range 100 {
			c.ask("a", "?")
			c.emit(event.SessionExited, "a")
		}
		time.Sleep(100 * time.Hour)
		if reads, writes := log.reads.Load(), c.store.Writes(); reads != 0 || writes != 0 {
			t.Errorf("without a sink there were %d reads of the events and %d writes", reads, writes)
		}
		if _, err := c.engine.TestNotify(t.Context(), client.NotifyTestRequest{}); !errors.Is(err, client.ErrRefused) {
			t.Errorf("a test without a sink: %v", err)
		}
	})
}

// TestIrrelevantEventsCostNoWrites: an engine with a sink that nothing concerns writes nothing and has no timer.
func TestIrrelevantEventsCostNoWrites(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &fakeSender{}
		c.start(settings(x))
		time.Sleep(time.Second)
		before := c.store.Writes()
		for range 1000 {
			c.emit(event.SessionStatus, "a")
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		if after := c.store.Writes(); after != before {
			t.Errorf("1000 events cost %d writes", after-before)
		}
	})
}

// TestConstantEvents: a city in which another event follows each read is planned too.
func TestConstantEvents(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		log := &constantLog{Log: c.events}
		c.events = log
		var left int64
		x := &fakeSender{answer: func(context.Context, int, *Message) error {
			left = log.left.Swap(0)
			return nil
		}}
		c.start(settings(x))
		synctest.Wait()
		log.left.Store(100_000)
		c.ask("a", "?")
		synctest.Wait()
		if len(x.sent) != 1 || left == 0 {
			t.Errorf("sent %d; it was sent after the last event", len(x.sent))
		}
	})
}

// constantLog appends an event after each read, as long as left is above zero.
type constantLog struct {
	event.Log
	left atomic.Int64
}

func (l *constantLog) Page(ctx context.Context, id uint64, limit int) ([]client.Event, error) {
	events, err := l.Log.Page(ctx, id, limit)
	if l.left.Add(-1) >= 0 && err == nil {
		_, err = l.Append(ctx, client.Event{Kind: string(event.SessionStatus)})
	}
	return events, err
}

// countingLog counts reads.
type countingLog struct {
	event.Log
	reads atomic.Int64
}

func (l *countingLog) After(ctx context.Context, id uint64) ([]client.Event, bool, error) {
	l.reads.Add(1)
	return l.Log.After(ctx, id)
}

func (l *countingLog) Page(ctx context.Context, id uint64, limit int) ([]client.Event, error) {
	l.reads.Add(1)
	return l.Log.Page(ctx, id, limit)
}

func (l *countingLog) Wait(ctx context.Context, id uint64) error {
	l.reads.Add(1)
	return l.Log.Wait(ctx, id)
}
