package workers

import (
	"cmp"
	"slices"
	"time"

	"gascity/worker"
)

// compactionReport is one report that the conversation was compacted.
type compactionReport struct {
	Name string    // identifies the compaction in repeated reports; empty: unknown
	At   time.Time // when it happened
}

// sameCompaction is how long after a worker acknowledged a request to compact a further report
// means the same compaction.
const sameCompaction = 10 * time.Second

// maxSeenCompactions is how many names of compactions are kept.
const maxSeenCompactions = 32

// listReportedCompactions returns the compactions in telemetry events, in the order of the events.
// The name of a compaction is its message ID, or else its reported time. A missing time and a time
// in the future are replaced by now.
func listReportedCompactions(events []worker.TelemetryEvent, now time.Time) []compactionReport {
	var out []compactionReport
	for i := range events {
		ev := &events[i]
		if ev.Type != worker.Compacted {
			continue
		}
		c := compactionReport{ev.MessageID, ev.Timestamp}
		if c.At.IsZero() || c.At.After(now) {
			c.At = now
		}
		if !ev.Timestamp.IsZero() {
			c.Name = cmp.Or(c.Name, ev.Timestamp.UTC().Format(time.RFC3339Nano))
		}
		out = append(out, c)
	}
	return out
}

// newAcknowledgedCompaction returns the report for a compaction that the worker did because gc
// asked for it. message is the ID of gc's request.
func newAcknowledgedCompaction(message string, now time.Time) compactionReport {
	return compactionReport{message, now.Add(sameCompaction)}
}

// Compact starts a new epoch for a reported compaction and returns ok = true. For a compaction that
// was reported before, or that is not later than the last epoch, it only records its name and
// returns false. If the time of the last epoch is in the future, the clock was set back, and the
// compaction counts as new.
func (r contextLog) Compact(c compactionReport, now time.Time) (next contextLog, dropped []string, ok bool) {
	if slices.Contains(r.SeenCompactions, c.Name) {
		return r, nil, false
	}
	if c.Name != "" {
		r.SeenCompactions = newestSeen(append(slices.Clip(r.SeenCompactions), c.Name))
	}
	if back := r.Compacted.After(now.Add(sameCompaction)); !c.At.After(r.Compacted) && !back {
		return r, nil, false
	}
	next, dropped = r.newEpoch(c.At, worker.CompactContext)
	next.Compacted = c.At
	return next, dropped, true
}

// newestSeen returns the last maxSeenCompactions names.
func newestSeen(names []string) []string { return names[max(0, len(names)-maxSeenCompactions):] }
