package workers_test

import (
	"context"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/service/workers"
	"gascity/test/storetest"
	"gascity/worker"
)

// measured is an event log that records how much each call reads.
type measured struct {
	event.Log
	most, whole int
}

func (m *measured) After(ctx context.Context, id uint64) ([]client.Event, bool, error) {
	m.whole++
	return m.Log.After(ctx, id)
}

func (m *measured) Page(ctx context.Context, id uint64, limit int) ([]client.Event, error) {
	page, err := m.Log.Page(ctx, id, limit)
	m.most = max(m.most, len(page))
	return page, err
}

// TestEventsOfARunAreReadInPages: a reader that follows the cursor gets each event of the run once, in
// order, among events of other runs. No response reads the whole log.
func TestEventsOfARunAreReadInPages(t *testing.T) {
	log := &measured{Log: storetest.NewEvents(100_000, 0, time.Now)}
	r := newEngineTest(t, func(o *workers.Options) { o.Events = log })
	env := r.start("a", "one")
	a := r.work(env, nil)
	const turns = 40
	for range turns {
		r.must(a.Report(r.within(), worker.Busy, worker.Detail{}))
		for range 300 {
			_, err := log.Append(t.Context(), client.Event{Kind: string(event.SessionStatus), Session: "b"})
			r.must(err)
		}
	}
	seen, busy, answers := uint64(0), 0, 0
	for {
		page, err := r.now().engine.Events(r.within(), env["GC_RUN_ID"], seen, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		answers++
		for _, e := range page {
			if e.Seq <= seen || e.RunID != env["GC_RUN_ID"] {
				t.Fatalf("event %+v after %d", e, seen)
			}
			seen = e.Seq
			if e.Kind == "lifecycle" {
				busy++
			}
		}
		if len(page) > 7 {
			t.Errorf("%d events in one answer", len(page))
		}
	}
	if busy != turns+2 || answers < turns/7 || log.most > 1000 || log.whole > 0 {
		t.Errorf("%d reports in %d answers, want %d; %d entries were read at a time, the whole time line %d times", busy, answers, turns+2, log.most, log.whole)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.now().engine.Events(ended, "", 0, 0); err == nil {
		t.Error("a canceled caller gets an answer")
	}
}
