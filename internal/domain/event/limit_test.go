package event_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/test/storetest"
)

// limited runs a limited log above inner, in a test with simulated time. stop ends it.
func limited(t testing.TB, inner event.Log, rate event.Rate) (l *event.Limited, stop func()) {
	t.Helper()
	l = event.Limit(inner, rate, time.Now)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	return l, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestOneAgentFloodsNobody appends 3,400 events a second of one session for a minute. It checks
// that the log gets a limited number of them, the last one included, and a report of how many were
// left out. Events of other sessions and of other kinds are not left out.
func TestOneAgentFloodsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := storetest.NewEvents(1<<20, 0, time.Now)
		l, stop := limited(t, inner, event.Rate{})
		sent := 0
		for range 60 {
			for range 3400 {
				sent++
				mustAppend(t, l, client.Event{Kind: string(event.SessionStatus), Session: "noisy", Agent: "n", Text: strconv.Itoa(sent)})
				time.Sleep(time.Second / 3400)
			}
			mustAppend(t, l, client.Event{Kind: string(event.SessionStatus), Session: "quiet"})
			mustAppend(t, l, client.Event{Kind: string(event.PendingRaised), Session: "noisy"})
			mustAppend(t, l, client.Event{Kind: string(event.StoreDegraded)})
		}
		stop()
		got, dropped, last := map[string]int{}, 0, ""
		events, _, _ := inner.After(t.Context(), 0)
		for _, e := range events {
			got[e.Session+" "+e.Kind]++
			if e.Kind == string(event.SessionStatus) && e.Session == "noisy" {
				last = e.Text
			}
			if e.Kind == string(event.EventsDropped) {
				n, err := strconv.Atoi(e.Data["count"])
				if err != nil || e.Session != "noisy" || e.Agent != "n" {
					t.Errorf("the report is %+v", e)
				}
				dropped += n
			}
		}
		noisy := got["noisy session.status"]
		if noisy > 300+61*5 || noisy < 300+59*5 {
			t.Errorf("%d of %d events of the noisy session were appended, want 300 and then 5 a second", noisy, sent)
		}
		if noisy+dropped != sent || last != strconv.Itoa(sent) {
			t.Errorf("%d were appended and %d reported as left out of %d; the last is %s", noisy, dropped, sent, last)
		}
		if n := got["noisy events.dropped"]; n < 1 || n > 7 {
			t.Errorf("%d reports in a minute, want one in 10 s", n)
		}
		for _, k := range []string{"quiet session.status", "noisy pending.raised", " store.degraded"} {
			if got[k] != 60 {
				t.Errorf("%d of 60 events %q were appended", got[k], k)
			}
		}
	})
}

// TestWhatIsHeldBackComesSoon checks that the newest event that was deferred is appended after a
// while, although no other event follows it.
func TestWhatIsHeldBackComesSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := storetest.NewEvents(100, 0, time.Now)
		l, stop := limited(t, inner, event.Rate{Burst: 1})
		defer stop()
		for _, word := range []string{"busy", "idle", "busy", "waiting"} {
			mustAppend(t, l, client.Event{Kind: string(event.SessionActivity), Session: "a", Text: word})
		}
		mustAppend(t, l, client.Event{Kind: string(event.WorkerAuthorize), Session: "a", Data: map[string]string{"action": "allow"}})
		mustAppend(t, l, client.Event{Kind: string(event.WorkerAuthorize), Session: "a", Data: map[string]string{"action": "deny"}})
		time.Sleep(200*time.Millisecond + time.Millisecond)
		synctest.Wait()
		if got, want := texts(t, inner), "[busy   waiting]"; got != want {
			t.Errorf("after one pause the log holds %s, want %s", got, want)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		events, _, _ := inner.After(t.Context(), 0)
		if e := events[len(events)-1]; e.Kind != string(event.EventsDropped) || e.Data["count"] != "2" || e.Data["kinds"] != "session.activity 2" {
			t.Errorf("the last event is %+v, want that two were left out", e)
		}
	})
}

// TestEveryEventIsAppendedOrCounted checks, for random bursts of events of several sessions, that
// each event is in the log or counted in a report, that the order stays, and that no session gets
// more than its rate.
func TestEveryEventIsAppendedOrCounted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := event.Rate{
			Burst: rapid.IntRange(1, 5).Draw(rt, "burst"), Every: time.Duration(rapid.IntRange(1, 300).Draw(rt, "every")) * time.Millisecond,
			Report: time.Duration(rapid.IntRange(1, 2000).Draw(rt, "report")) * time.Millisecond,
		}
		now := time.UnixMilli(1_800_000_000_000)
		clock := func() time.Time { return now }
		inner := storetest.NewEvents(1<<20, 0, clock)
		l := event.Limit(inner, rate, clock)
		sent, begun := map[string]int{}, now
		for i := range rapid.IntRange(1, 200).Draw(rt, "events") {
			s := fmt.Sprint("s", rapid.IntRange(0, 2).Draw(rt, "session"))
			sent[s]++
			mustAppend(t, l, client.Event{Kind: string(event.SessionStatus), Session: s, Data: map[string]string{"n": strconv.Itoa(i)}})
			now = now.Add(time.Duration(rapid.IntRange(-5, 50).Draw(rt, "pause")) * time.Millisecond)
			if rapid.Bool().Draw(rt, "release") {
				l.Release(t.Context(), false)
			}
		}
		took := now.Sub(begun)
		l.Release(t.Context(), true)
		got, dropped, last := map[string]int{}, map[string]int{}, map[string]int{}
		events, _, _ := inner.After(t.Context(), 0)
		for _, e := range events {
			if e.Kind == string(event.EventsDropped) {
				count, _ := strconv.Atoi(e.Data["count"])
				dropped[e.Session] += count
				continue
			}
			n, _ := strconv.Atoi(e.Data["n"])
			if n < last[e.Session] {
				rt.Fatalf("event %d of %s follows event %d", n, e.Session, last[e.Session])
			}
			got[e.Session]++
			last[e.Session] = n
		}
		for s, n := range sent {
			if got[s]+dropped[s] != n {
				rt.Errorf("%s sent %d events, %d were appended and %d reported as left out", s, n, got[s], dropped[s])
			}
			// A clock that was set back 5 ms up to 200 times may have earned that time twice.
			if most := rate.Burst + int((took+time.Second)/rate.Every) + 2; got[s] > most {
				rt.Errorf("%d events of %s in %v, want at most %d", got[s], s, took, most)
			}
		}
	})
}

// mustAppend appends an event; an error ends the test.
func mustAppend(t testing.TB, l event.Log, e client.Event) {
	t.Helper()
	if _, err := l.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// texts returns the texts of all events in a log.
func texts(t *testing.T, l event.Log) string {
	var out []string
	events, _, _ := l.After(t.Context(), 0)
	for _, e := range events {
		out = append(out, e.Text)
	}
	return fmt.Sprint(out)
}
