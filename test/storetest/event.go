package storetest

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
)

// append appends one event for each text.
func (s *suite) append(texts ...string) []client.Event {
	s.t.Helper()
	var out []client.Event
	for _, text := range texts {
		e, err := s.Events.Append(s.ctx, client.Event{Kind: string(event.SessionStatus), Text: text})
		s.must(err)
		out = append(out, e)
	}
	return out
}

// after checks that the log returns exactly the wanted events after the id, and whether it reports
// a gap.
func (s *suite) after(id uint64, wantGap bool, want ...client.Event) {
	s.t.Helper()
	got, gap, err := s.Events.After(s.ctx, id)
	s.must(err)
	s.wantSame("the past", want, got)
	if gap != wantGap {
		s.t.Errorf("the log says for the events after ID %d: gap = %v (events were removed); want %v", id, gap, wantGap)
	}
	for limit := range len(want) + 1 {
		page, err := s.Events.Page(s.ctx, id, limit+1)
		s.must(err)
		s.wantSame("a page of the past", want[:min(len(want), limit+1)], page)
	}
}

// eventOrder checks that events get growing ids and are stored unchanged.
func eventOrder(s *suite) {
	s.after(0, false)
	full := filled[client.Event](1)
	kept, err := s.Events.Append(s.ctx, full)
	s.must(err)
	full.ID = kept.ID
	s.wantSame("the appended event", full, kept)
	events := append([]client.Event{kept}, s.append("a", "b")...)
	s.recheck(func() {
		s.after(0, false, events...)
		more := s.append("c")
		if last := events[len(events)-1]; more[0].ID != last.ID+1 || more[0].Time.IsZero() {
			s.t.Errorf("event %d of %v follows event %d", more[0].ID, more[0].Time, last.ID)
		}
		events = append(events, more...)
	})
}

// eventAfter checks that After returns the events after each id, also after a restart.
func eventAfter(s *suite) {
	events := s.append("a", "b", "c", "d")
	s.recheck(func() {
		for i, e := range events {
			s.after(e.ID, false, events[i+1:]...)
		}
	})
}

// eventStale checks that After returns a gap and all events for an id that was never assigned.
func eventStale(s *suite) {
	s.after(1<<50, true)
	events := s.append("a", "b")
	s.recheck(func() { s.after(events[1].ID+1000, true, events...) })
	if before := events[0].ID - 1; before > 1 {
		s.after(before-1, true, events...)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	sub, err := event.Subscribe(ctx, s.Events, 1<<50)
	s.must(err)
	next := s.append("c")
	if got := <-sub.Next; !sub.Gap || got.ID != next[0].ID {
		s.t.Errorf("a stale reader goes on with event %d, gap %v; want %d and a gap", got.ID, sub.Gap, next[0].ID)
	}
}

// eventSince checks that Since returns the newest event before a time.
func eventSince(s *suite) {
	var ids []uint64
	for i := range 4 {
		e, err := s.Events.Append(s.ctx, client.Event{Kind: string(event.SessionStatus), Time: start().Add(time.Duration(i) * time.Minute)})
		s.must(err)
		ids = append(ids, e.ID)
	}
	s.recheck(func() {
		for since, want := range map[time.Duration]uint64{
			-time.Hour: 0, 0: 0, time.Second: ids[0], 2 * time.Minute: ids[1], time.Hour: ids[3],
		} {
			if got, err := s.Events.Since(s.ctx, start().Add(since)); got != want || err != nil {
				s.t.Errorf("since %v after the first event comes what follows %d, error %v; want %d", since, got, err, want)
			}
		}
	})
}

// eventWait checks that Wait returns at the next event, and with the cause of its context when that
// ends.
func eventWait(s *suite) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	cancel(os.ErrClosed)
	if err := s.Events.Wait(ctx, 0); !errors.Is(err, os.ErrClosed) {
		s.t.Errorf("a wait for the first event returned %v, want the context's cause", err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Events.Wait(s.ctx, 0) }()
	e := s.append("a")[0]
	s.must(<-done)
	s.must(s.Events.Wait(s.ctx, e.ID-1))
	if err := s.Events.Wait(ctx, e.ID); !errors.Is(err, os.ErrClosed) {
		s.t.Errorf("waiting for an event after the newest one returned %v, want the cause of the ended context", err)
	}
}

// eventFollow checks with many writers that no event is lost, repeated or out of order.
func eventFollow(s *suite) {
	const writers, each = 8, 50
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	stream := event.Follow(ctx, s.Events, 0)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := s.Events.Append(s.ctx, client.Event{Kind: string(event.SessionStatus)}); err != nil {
					s.t.Error(err)
				}
			}
		})
	}
	var last uint64
	for n := range writers * each {
		e, ok := <-stream
		if !ok || last != 0 && e.ID != last+1 {
			s.t.Fatalf("event %d came as number %d after %d, stream open: %v", e.ID, n, last, ok)
		}
		last = e.ID
	}
	wg.Wait()
}
