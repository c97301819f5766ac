package workers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/usage"
	"gascity/internal/service/workers"
	"gascity/worker"
)

// TestWrongClockOfAWorker has workers whose clocks are an hour or months behind, stand still, or are an hour
// ahead. Uptime and state follow the order of arrival, the event has the time that was not used, and the times
// of a right clock are used.
func TestWrongClockOfAWorker(t *testing.T) {
	for name, behind := range map[string]time.Duration{"an hour behind": time.Hour, "months behind": 267 * 24 * time.Hour, "an hour ahead": -time.Hour, "right": 0} {
		t.Run(name, func(t *testing.T) {
			var spent []usage.Entry
			r := newEngineTest(t, func(o *workers.Options) {
				o.Spend = func(_ context.Context, entries []usage.Entry) (int, error) {
					spent = append(spent, entries...)
					return len(entries), nil
				}
			})
			begun := time.Now()
			a := r.work(r.start("a", "one"), nil)
			report := func(e worker.Transition) {
				t.Helper()
				_, err := r.now().engine.Lifecycle(r.within(), a.RunID, worker.Lifecycle{Event: e, Timestamp: begun.Add(-behind)})
				r.must(err)
			}
			for range 2 {
				for _, e := range []worker.Transition{worker.Started, worker.Ready, worker.Busy, worker.Idle} {
					if behind == 0 {
						begun = time.Now()
					}
					report(e)
					if got := r.health(a.RunID); got.CurrentState != string(e) || got.UptimeSeconds > int64(time.Since(begun).Seconds()) {
						t.Errorf("after %s it is %s and up for %d s", e, got.CurrentState, got.UptimeSeconds)
					}
				}
			}
			tokens := int64(5)
			_, err := a.Telemetry(r.within(), worker.TelemetryEvent{
				Type: worker.TurnComplete, Timestamp: begun.Add(-behind), Usage: &worker.Usage{InputTokens: &tokens, OutputTokens: &tokens},
			})
			r.must(err)
			if len(spent) != 1 || spent[0].At.Before(begun.Add(-10*time.Second)) || spent[0].At.After(time.Now()) {
				t.Errorf("what was spent is %+v, want it within the life of the instance", spent)
			}
			said := 0
			events, _, _ := r.opts.Events.After(t.Context(), 0)
			for _, e := range events {
				if e.Kind == string(event.WorkerLifecycle) && strings.Contains(e.Data["clock"], "the time of arrival counts") {
					said++
				}
			}
			if want := 8; behind == 0 && said != 0 || behind != 0 && said != want {
				t.Errorf("%d events say that a time was not used", said)
			}
		})
	}
}
