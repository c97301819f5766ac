package shim

import (
	"testing"
	"testing/synctest"
	"time"
)

// A subscriber that does not keep up is cut off, and disturbs no other.
func TestHubCutsOffTheSlow(t *testing.T) {
	var b hub
	slow, quick := b.subscribe(), b.subscribe()
	for range cap(slow) + 10 {
		if !b.publish(Event{Kind: EventTitle}) {
			t.Fatal("no subscriber got the event")
		}
		<-quick
	}
	n := 0
	for range slow {
		n++
	}
	if n != cap(slow) {
		t.Errorf("the slow one got %d events before its end, want %d", n, cap(slow))
	}
	b.unsubscribe(slow)
	b.unsubscribe(quick)
	if b.publish(Event{Kind: EventTitle}) {
		t.Error("somebody got an event who left")
	}
	b.close()
	if _, open := <-b.subscribe(); open {
		t.Error("a closed hub takes subscribers")
	}
}

// A subscriber learns of output from before, which no other subscriber has seen: a watch reports a new session before it is
// subscribed to its events.
func TestHubReportsUnseenOutput(t *testing.T) {
	var b hub
	b.output(time.Now())
	first, second := b.subscribe(), b.subscribe()
	if e := <-first; e.Kind != EventOutput || e.Time.IsZero() {
		t.Errorf("the first event is %+v, want output", e)
	}
	if len(first)+len(second) > 0 {
		t.Errorf("%d further events", len(first)+len(second))
	}
	b.unsubscribe(first)
	b.unsubscribe(second)
	b.output(time.Now())
	if e := <-b.subscribe(); e.Kind != EventOutput {
		t.Errorf("the event after a time without subscribers is %+v, want output", e)
	}
}

// Output events come at once after quiet, at most four a second, and the last is
// never swallowed.
func TestHubThinsOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b hub
		events := b.subscribe()
		var got []time.Time
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e := range events {
				got = append(got, e.Time)
			}
		}()
		began := time.Now()
		for time.Since(began) < 2*time.Second {
			b.output(time.Now())
			time.Sleep(10 * time.Millisecond)
		}
		last := time.Now()
		time.Sleep(time.Second)
		b.close()
		<-done
		if len(got) < 8 || len(got) > 10 {
			t.Errorf("two seconds of output made %d events, want eight or nine", len(got))
		}
		if !got[0].Equal(began) || got[len(got)-1].Before(last.Add(-10*time.Millisecond)) {
			t.Errorf("first %v, last %v; want %v and not before %v", got[0], got[len(got)-1], began, last)
		}
		for i := 1; i < len(got); i++ {
			if gap := got[i].Sub(got[i-1]); gap < outputEventGap {
				t.Errorf("two events only %v apart", gap)
			}
		}
	})
}
