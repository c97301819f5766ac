package notify

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/notification"
)

// withdrawer is a sender that records withdrawals.
type withdrawer struct {
	fakeSender

	withdrawn []Message
}

// Withdraw implements Withdrawer.
func (w *withdrawer) Withdraw(_ context.Context, m *Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.withdrawn = append(w.withdrawn, *m)
	return errDown // it is not tried again
}

// withdrawals returns the messages that were withdrawn.
func (w *withdrawer) withdrawals() []Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.withdrawn)
}

// TestAnsweredQuestionIsWithdrawn: a message that was confirmed is withdrawn once, when all that it is about is over, and one that
// was not sent is not.
func TestAnsweredQuestionIsWithdrawn(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &withdrawer{}
		s := settings(nil, func(r *notification.Rule) { r.Batch = time.Minute })
		s.Sinks[0] = Sink{Name: "x", Type: "webpush", Timeout: time.Second, ForDevice: func(string) Sender { return x }}
		c.startWith(s, []client.WebDevice{{ID: "d-1"}})
		time.Sleep(time.Second)
		early := c.ask("a", "early")
		time.Sleep(time.Second)
		c.answer(early)
		first, second := c.ask("a", "first"), c.ask("b", "second")
		c.emit(event.SessionExited, "c")
		time.Sleep(2 * time.Minute)
		last := c.ask("d", "last")
		time.Sleep(2 * time.Minute)
		if len(x.tries()) != 2 {
			t.Fatalf("sent %q", x.titles())
		}
		c.answer(first)
		time.Sleep(time.Minute)
		if len(x.withdrawals()) != 0 {
			t.Fatalf("withdrawn while a part is open: %+v", x.withdrawals())
		}
		c.answer(second)
		time.Sleep(time.Minute)
		if len(x.withdrawals()) != 0 {
			t.Errorf("a message that also says what has finished was withdrawn: %+v", x.withdrawals())
		}
		c.answer(last)
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(x.withdrawals()) != 1 || x.withdrawals()[0].ID != x.tries()[1].ID || x.withdrawals()[0].Questions != 0 || !strings.Contains(x.withdrawals()[0].Title, "d asks") {
			t.Errorf("withdrawn: %+v", x.withdrawals())
		}
	})
}

// TestQuestionThatEndsDuringItsMessage: a question that is answered while its message is sent is withdrawn as soon as that is confirmed.
func TestQuestionThatEndsDuringItsMessage(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		x := &withdrawer{}
		x.answer = func(_ context.Context, _ int, m *Message) error {
			c.answer(m.Items[0].Question)
			time.Sleep(time.Second) // until the engine has read the answer
			return nil
		}
		s := settings(nil)
		s.Sinks[0] = Sink{Name: "x", Type: "webpush", Timeout: time.Minute, ForDevice: func(string) Sender { return x }}
		c.startWith(s, []client.WebDevice{{ID: "d-1"}})
		time.Sleep(time.Second)
		c.ask("a", "Delete it?")
		time.Sleep(time.Minute)
		if len(x.tries()) != 1 || len(x.withdrawals()) != 1 || x.withdrawals()[0].ID != x.tries()[0].ID {
			t.Errorf("sent %q, withdrawn %+v", x.titles(), x.withdrawals())
		}
	})
}

// TestChangedDevicesShortenNoDelay: the delay that a push service asked for is observed although another device was added.
func TestChangedDevicesShortenNoDelay(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		slow, other := &fakeSender{answer: func(context.Context, int, *Message) error { return &SendError{Err: errDown, After: 30 * time.Minute} }}, &fakeSender{}
		s := settings(nil)
		s.Sinks[0] = Sink{Name: "x", Type: "webpush", Timeout: time.Second, ForDevice: func(device string) Sender {
			return map[string]Sender{"d-1": slow, "d-2": other}[device]
		}}
		c.startWith(s, []client.WebDevice{{ID: "d-1", Name: "tablet"}})
		time.Sleep(time.Second)
		c.ask("a", "Delete it?")
		time.Sleep(time.Minute)
		c.engine.SetDevices([]client.WebDevice{{ID: "d-1", Name: "tablet"}, {ID: "d-2", Name: "phone"}})
		time.Sleep(time.Minute)
		list, err := c.engine.Notifications(t.Context())
		if err != nil || len(slow.tries()) != 1 || list.Sinks[0].Devices != 2 || !strings.HasPrefix(list.Sinks[0].Error, "tablet: ") || list.Sinks[0].Waiting != 1 {
			t.Errorf("%d tries, %+v, %v", len(slow.tries()), list.Sinks, err)
		}
		time.Sleep(30 * time.Minute)
		if len(slow.tries()) != 2 || len(other.tries()) != 0 {
			t.Errorf("%d tries for the old device and %d for the new one, want 2 and 0", len(slow.tries()), len(other.tries()))
		}
	})
}

// TestRemovedDeviceGetsNothing: what waits for a device is dropped when it is signed out, also while no controller runs.
func TestRemovedDeviceGetsNothing(t *testing.T) {
	inTown(t, func(t *testing.T, c *town) {
		down := &fakeSender{answer: func(context.Context, int, *Message) error { return errDown }}
		s := settings(nil)
		s.Sinks[0] = Sink{Name: "x", Type: "webpush", Timeout: time.Second, ForDevice: func(string) Sender { return down }}
		both := []client.WebDevice{{ID: "d-1"}, {ID: "d-2"}}
		c.startWith(s, both)
		time.Sleep(time.Second)
		c.ask("a", "Delete it?")
		time.Sleep(time.Second)
		c.engine.SetDevices(both[1:])
		time.Sleep(time.Second)
		if got := c.devices(); !slices.Equal(got, []string{"q-1 d-1 dropped", "q-1 d-2 sending"}) {
			t.Errorf("after a device was signed out: %q", got)
		}
		c.stop()
		c.startWith(s, []client.WebDevice{{ID: "d-3"}})
		time.Sleep(time.Second)
		if got := c.devices(); !slices.Equal(got, []string{"q-1 d-1 dropped", "q-1 d-2 dropped"}) {
			t.Errorf("after a device was signed out without a controller: %q", got)
		}
		c.engine.SetDevices(nil)
		results, err := c.engine.TestNotify(t.Context(), clientTest())
		if err != nil || len(results) != 1 || !strings.Contains(results[0].Error, "Notify this device") {
			t.Errorf("a test without a device: %+v, %v", results, err)
		}
	})
}
