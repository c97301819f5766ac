package event

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/client"
)

var update = flag.Bool("update", false, "write generated files")

func add(t *testing.T, l Log, kind Kind) client.Event {
	t.Helper()
	e, err := l.Append(client.Event{Kind: string(kind)})
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
		l := NewMemory(retain, 0, time.Now)
		for range n {
			if _, err := l.Append(client.Event{Kind: string(SessionStarted)}); err != nil {
				rt.Fatal(err)
			}
		}
		after := uint64(rapid.IntRange(0, n+3).Draw(rt, "after"))
		events, gap, err := l.After(after)
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

func TestFollowLosesNothingAndKeepsOrder(t *testing.T) {
	const writers, each = 8, 50
	l := NewMemory(writers*each, 0, time.Now)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream := Follow(ctx, l, 0)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				_, _ = l.Append(client.Event{Kind: string(SessionStatus)}) // Memory never fails
			}
		})
	}
	for want := uint64(1); want <= writers*each; want++ {
		select {
		case e := <-stream:
			if e.ID != want {
				t.Fatalf("event %d came where %d was due", e.ID, want)
			}
		case <-ctx.Done():
			t.Fatalf("event %d never came", want)
		}
	}
	wg.Wait()
}

func TestSlowFollowerIsCutOffAndNeverBlocksTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewMemory(4, 0, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream := Follow(ctx, l, 0)
		add(t, l, ControllerStarted)
		synctest.Wait() // the follower holds event 1, which is not received
		for range 100 {
			add(t, l, SessionStatus)
		}
		if e := <-stream; e.ID != 1 {
			t.Fatalf("the first event is %d, want 1", e.ID)
		}
		if e, open := <-stream; open {
			t.Fatalf("event %d follows event 1 although those between are forgotten", e.ID)
		}
		sub, err := Subscribe(ctx, l, 1)
		if err != nil || !sub.Gap || sub.Past[len(sub.Past)-1].ID != 101 {
			t.Fatalf("resumed with ids %v, gap %v, error %v; want a gap and the newest", ids(sub.Past), sub.Gap, err)
		}
		add(t, l, SessionStopped)
		if e := <-sub.Next; e.ID != 102 {
			t.Errorf("after the gap came event %d, want 102", e.ID)
		}
	})
}

func TestFollowEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		stream := Follow(ctx, NewMemory(4, 0, time.Now), 0)
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
			l := NewMemory(4, 1000, time.Now)
			sub, err := Subscribe(ctx, l, id)
			if len(sub.Past) > 0 || !sub.Gap || err != nil {
				t.Errorf("a cursor from the %s got %+v, error %v; want a gap and nothing", name, sub, err)
			}
			add(t, l, SessionStatus)
			if got := <-sub.Next; got.ID != 1001 {
				t.Errorf("a cursor from the %s goes on with event %d, want 1001", name, got.ID)
			}
		}
		l := NewMemory(4, 1000, time.Now)
		add(t, l, SessionStatus)
		add(t, l, SessionStatus)
		sub, err := Subscribe(ctx, l, 0)
		if want := []uint64{1001, 1002}; !cmp.Equal(ids(sub.Past), want) || sub.Gap || err != nil {
			t.Errorf("from the beginning got %+v, error %v; want %v and no gap", sub, err, want)
		}
	})
}

func TestSinceIsTheNewestThatIsOlder(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := NewMemory(9, 100, time.Now)
	for i := range 4 {
		if _, err := l.Append(client.Event{Kind: string(SessionStatus), Time: start.Add(time.Duration(i) * time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	for since, want := range map[time.Duration]uint64{-time.Hour: 0, 0: 0, time.Second: 101, 2 * time.Minute: 102, time.Hour: 104} {
		if got, err := l.Since(start.Add(since)); got != want || err != nil {
			t.Errorf("since %v after the first event comes what follows %d, error %v; want %d", since, got, err, want)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	l := NewMemory(4, 0, time.Now)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrClosed)
	if err := l.Wait(ctx, 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Wait returned %v, want the context's cause", err)
	}
}

func TestKindsAreDistinctAndExplained(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		noun, verb, ok := strings.Cut(string(k.Kind), ".")
		if seen[k.Kind] || !ok || noun == "" || verb == "" || k.Meaning == "" {
			t.Errorf("row %+v is double, unexplained or not noun.verb", k)
		}
		seen[k.Kind] = true
	}
}

func TestEventReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "events.md")
	want := Reference()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/events.md is not what the kinds say; run make gen:\n%s", diff)
	}
}
