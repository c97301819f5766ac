package contextlog_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/internal/service/workers/contextlog"
	"gascity/worker"
)

// TestEachCompactionIsAnEpoch: named by the worker or not, reported once or often, by a worker
// whose clock goes ahead, over controllers, and with a clock that is set forth and back: there
// are as many epochs as there were compactions.
func TestEachCompactionIsAnEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var record contextlog.Record
		var told []worker.TelemetryEvent
		now, want := time.Unix(2e9, 0), 0
		tell := func(ev worker.TelemetryEvent) {
			for _, c := range contextlog.Reported([]worker.TelemetryEvent{{Type: worker.TurnComplete}, ev}, now) {
				record, _, _ = record.Compact(c, now)
			}
		}
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds"))*time.Second + 1)
			next := func() { // it cannot be known of one within these seconds whether it is another one
				want++
				now = now.Add(2 * contextlog.SameCompaction)
				if ahead := record.Compacted.Sub(now); ahead > 0 && ahead <= contextlog.SameCompaction {
					now = now.Add(2 * contextlog.SameCompaction)
				}
			}
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				next()
				ev := worker.TelemetryEvent{Type: worker.Compacted, Timestamp: now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "ahead")) * time.Minute)}
				if rapid.Bool().Draw(t, "named") {
					ev.MessageID = fmt.Sprint("msg-", step)
				}
				told = append(told, ev)
				tell(ev)
			case 1:
				if len(told) > 0 {
					tell(rapid.SampledFrom(told[max(0, len(told)-10):]).Draw(t, "again"))
				}
			case 2: // by its worker's word that it obeyed, and by an event behind it, both of them twice
				next()
				name := fmt.Sprint("compact-", step)
				ev := worker.TelemetryEvent{Type: worker.Compacted, Timestamp: now.Add(contextlog.SameCompaction / 2)}
				told = append(told, ev)
				for range 2 {
					record, _, _ = record.Compact(contextlog.Obeyed(name, now), now)
					now = now.Add(contextlog.SameCompaction / 2)
					tell(ev)
				}
			case 3:
				now = now.Add(time.Duration(rapid.SampledFrom([]int{-3600, -200, 3600}).Draw(t, "jump")) * time.Second)
			case 4: // another controller knows what was kept
				record = record.With(contextlog.Record{})
			}
			if record.Epoch != want {
				t.Fatalf("%d compactions are %d epochs: %+v", want, record.Epoch, record)
			}
		}
	})
}
