package storetest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
)

func add(t *testing.T, l event.Log, kind event.Kind) client.Event {
	t.Helper()
	e, err := l.Append(t.Context(), client.Event{Kind: string(kind)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ids(events []client.Event) []uint64 {
	var out []uint64
	for _, e := range events {
		out = append(out, e.ID)
	}
	return out
}

func TestAfterReturnsExactlyTheFollowingEvents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		retain := rapid.IntRange(1, 9).Draw(rt, "retain")
		n := rapid.IntRange(0, 40).Draw(rt, "events")
		l := NewEvents(retain, 0, time.Now)
		for range n {
			if _, err := l.Append(t.Context(), client.Event{Kind: string(event.SessionStarted)}); err != nil {
				rt.Fatal(err)
			}
		}
		after := uint64(rapid.IntRange(0, n+3).Draw(rt, "after"))
		events, gap, err := l.After(t.Context(), after)
		if err != nil {
			rt.Fatal(err)
		}
		if after > uint64(n) {
			if !gap {
				rt.Fatalf("an id from the future (%d of %d) is no gap", after, n)
			}
			return
		}
		want := n - int(after)
		if !gap && len(events) != want {
			rt.Fatalf("got %d events without a gap, want %d", len(events), want)
		}
		if gap && len(events) >= want {
			rt.Fatalf("a gap is reported, but all %d events came", want)
		}
		if want > 0 && len(events) < min(retain, want) {
			rt.Fatalf("got %d events, want at least the %d that are to be kept", len(events), min(retain, want))
		}
		for i, e := range events {
			if e.ID != uint64(n-len(events)+i+1) {
				rt.Fatalf("ids are %v, want them to end at %d without holes", ids(events), n)
			}
		}
	})
}

func TestSlowFollowerIsCutOffAndNeverBlocksTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewEvents(4, 0, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream := event.Follow(ctx, l, 0)
		add(t, l, event.ControllerStarted)
		synctest.Wait() // the follower holds event 1, which is not received
		for range 100 {
			add(t, l, event.SessionStatus)
		}
		if e := <-stream; e.ID != 1 {
			t.Fatalf("the first event is %d, want 1", e.ID)
		}
		if e, open := <-stream; open {
			t.Fatalf("event %d follows event 1 although those between are forgotten", e.ID)
		}
		sub, err := event.Subscribe(ctx, l, 1)
		if err != nil || !sub.Gap || sub.Past[len(sub.Past)-1].ID != 101 {
			t.Fatalf("resumed with ids %v, gap %v, error %v; want a gap and the newest", ids(sub.Past), sub.Gap, err)
		}
		add(t, l, event.SessionStopped)
		if e := <-sub.Next; e.ID != 102 {
			t.Errorf("after the gap came event %d, want 102", e.ID)
		}
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		stream := event.Follow(ctx, NewEvents(4, 0, time.Now), 0)
		cancel()
		if _, open := <-stream; open {
			t.Error("the stream is open after its context ended")
		}
	})
}

func TestCursorOfAnEarlierLogIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for name, id := range map[string]uint64{"past": 50, "future": 5000} {
			l := NewEvents(4, 1000, time.Now)
			sub, err := event.Subscribe(ctx, l, id)
			if len(sub.Past) > 0 || !sub.Gap || err != nil {
				t.Errorf("a cursor from the %s got %+v, error %v; want a gap and nothing", name, sub, err)
			}
			add(t, l, event.SessionStatus)
			if got := <-sub.Next; got.ID != 1001 {
				t.Errorf("a cursor from the %s goes on with event %d, want 1001", name, got.ID)
			}
		}
		l := NewEvents(4, 1000, time.Now)
		add(t, l, event.SessionStatus)
		add(t, l, event.SessionStatus)
		sub, err := event.Subscribe(ctx, l, 0)
		if want := []uint64{1001, 1002}; !cmp.Equal(ids(sub.Past), want) || sub.Gap || err != nil {
			t.Errorf("from the beginning got %+v, error %v; want %v and no gap", sub, err, want)
		}
	})
}

func TestMemoryKeepsACopy(t *testing.T) {
	var m Sessions
	r := session.Record{Session: "gc-town-a", Provider: "p", Failures: []time.Time{{}}}
	for _, each := range []session.Record{r, {Session: "gc-town-a", Provider: "q"}} {
		if err := m.Save(t.Context(), each); err != nil {
			t.Fatal(err)
		}
	}
	r.Failures[0] = time.Unix(9, 0)
	got, err := m.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []session.Record{{Session: "gc-town-a", Provider: "p", Failures: []time.Time{{}}}, {Session: "gc-town-a", Provider: "q"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loaded records differ (-want +got):\n%s", diff)
	}
	if err := m.Remove(t.Context(), r.Key()); err != nil {
		t.Fatal(err)
	}
	if got, _ := m.Load(t.Context()); len(got) != 1 || got[0].Provider != "q" {
		t.Errorf("after the removal of one key %+v are left, want the other provider's", got)
	}
}
