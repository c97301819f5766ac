package workers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"gascity/internal/domain/plan"
	"gascity/internal/service/workers"
	"gascity/worker"
)

// testSections returns the city's sections of a test.
func testSections(_ string, mode worker.ContextMode) []worker.Section {
	return []worker.Section{{Type: "role", Content: "You repair, " + string(mode) + "."}, {Type: "history", Content: "It is kept."}}
}

// counts counts the sections that a worker had, by epoch and type.
func (a *agent) counts() map[string]int {
	n := map[string]int{}
	for _, m := range a.had(worker.ContextMessage) {
		var c worker.Context
		a.test.must(json.Unmarshal(m.Data, &c))
		for _, s := range c.Sections {
			n[fmt.Sprintf("%d %s %s", c.Epoch, c.Mode, s.Type)]++
		}
	}
	return n
}

// TestSectionsAreSentAgainAfterACompaction: at its start and after each compaction a worker
// gets the sections of the city once, even if it reports the compaction repeatedly or the controller changes.
func TestSectionsAreSentAgainAfterACompaction(t *testing.T) {
	const compactions = 20
	r := newEngineTest(t, func(o *workers.Options) { o.Sections = testSections })
	a := r.work(r.start("a", "one"), nonces, worker.OfferContext)
	r.eventually("sent at the start", func() bool { return a.counts()["0 full history"] > 0 })
	at := time.Now()
	for i := range compactions {
		event := worker.TelemetryEvent{Type: worker.Compacted, Timestamp: at.Add(time.Duration(i-compactions) * time.Minute)}
		for range 2 {
			_, err := a.Telemetry(r.within(), event)
			r.must(err)
		}
		if i == compactions/2 {
			r.restart()
			_, err := a.Telemetry(r.within(), event)
			r.must(err)
		}
		r.eventually(fmt.Sprintf("sent again after compaction %d", i+1), func() bool { return a.counts()[fmt.Sprintf("%d compact history", i+1)] > 0 })
	}
	counts := a.counts()
	for epoch := range compactions + 1 {
		mode := worker.CompactContext
		if epoch == 0 {
			mode = worker.FullContext
		}
		for _, kind := range []string{"role", "history"} {
			if n := counts[fmt.Sprintf("%d %s %s", epoch, mode, kind)]; n != 1 {
				t.Errorf("after compaction %d the %s was given %d times: %v", epoch, kind, n, counts)
			}
		}
	}
	if len(counts) != 2*(compactions+1) {
		t.Errorf("it was given %v", counts)
	}
}

// TestSectionsAreSentAfterARequestedCompaction: a worker that compacts on request and only
// acknowledges it gets the sections. One that also reports it gets them once. One that accepts no context gets
// them as a prompt.
func TestSectionsAreSentAfterARequestedCompaction(t *testing.T) {
	for name, offers := range map[string][]string{"by the stream": {worker.OfferCompact, worker.OfferContext}, "as a prompt": {worker.OfferCompact}} {
		t.Run(name, func(t *testing.T) {
			r := newEngineTest(t, func(o *workers.Options) {
				o.Sections = testSections
				o.Pressure = func(string) plan.ContextPolicy { return plan.ContextPolicy{CompactAt: 0.9} }
			})
			a := r.work(r.start("a", "one"), func(a *agent, m worker.Message) {
				if m.Kind == worker.CompactMessage {
					_ = a.Ack(r.within(), worker.Ack{ID: m.ID, State: worker.Consumed}) // ends with the test
					_, _ = a.Telemetry(r.within(), worker.TelemetryEvent{Type: worker.Compacted, Timestamp: time.Now()})
				}
			}, offers...)
			r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
			a.full(0.95)
			byPrompt := func() (n int) {
				for _, p := range r.Accepted() {
					if p.Source == "prime" && strings.Contains(p.Text, "You repair, compact.") && p.Priority == string(worker.System) {
						n++
					}
				}
				return n
			}
			r.eventually("sent again", func() bool { return a.counts()["1 compact role"]+byPrompt() > 0 })
			r.must(a.Report(r.within(), worker.Idle, worker.Detail{}))
			if n, counts := byPrompt(), a.counts(); n+counts["1 compact role"] != 1 || len(counts) != 0 && n != 0 || counts["2 compact role"] != 0 {
				t.Errorf("it received %d prompts, and %v", n, counts)
			}
		})
	}
}
