package workers

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/worker"
)

// TestEachCompactionStartsAnEpoch: the number of epochs equals the number of compactions: named by the worker or
// not, reported once or repeatedly, with a clock that is ahead, across controllers, and when the clock is set
// forward and back.
func TestEachCompactionStartsAnEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var record contextLog
		var sent []worker.TelemetryEvent
		now, want := time.Unix(2e9, 0), 0
		report := func(ev worker.TelemetryEvent) {
			for _, c := range listReportedCompactions([]worker.TelemetryEvent{{Type: worker.TurnComplete}, ev}, now) {
				record, _, _ = record.Compact(c, now)
			}
		}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds"))*time.Second + 1)
			next := func() { // within these seconds another compaction cannot be distinguished from a repeated report
				want++
				now = now.Add(2 * sameCompaction)
				if ahead := record.Compacted.Sub(now); ahead > 0 && ahead <= sameCompaction {
					now = now.Add(2 * sameCompaction)
				}
			}
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				next()
				ev := worker.TelemetryEvent{Type: worker.Compacted, Timestamp: now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "ahead")) * time.Minute)}
				if rapid.Bool().Draw(t, "named") {
					ev.MessageID = fmt.Sprint("msg-", step)
				}
				sent = append(sent, ev)
				report(ev)
			case 1:
				if len(sent) > 0 {
					report(rapid.SampledFrom(sent[max(0, len(sent)-10):]).Draw(t, "again"))
				}
			case 2: // by the acknowledgement of its request, and by a later event, both repeated
				next()
				name := fmt.Sprint("compact-", step)
				ev := worker.TelemetryEvent{Type: worker.Compacted, Timestamp: now.Add(sameCompaction / 2)}
				sent = append(sent, ev)
				for range 2 {
					record, _, _ = record.Compact(newAcknowledgedCompaction(name, now), now)
					now = now.Add(sameCompaction / 2)
					report(ev)
				}
			case 3:
				now = now.Add(time.Duration(rapid.SampledFrom([]int{-3600, -200, 3600}).Draw(t, "jump")) * time.Second)
			case 4: // another controller loads the saved state
				record = record.With(contextLog{})
			}
			if record.Epoch != want {
				t.Fatalf("%d compactions are %d epochs: %+v", want, record.Epoch, record)
			}
		}
	})
}
