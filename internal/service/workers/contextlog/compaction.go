package contextlog

import (
	"cmp"
	"slices"
	"time"

	"gascity/worker"
)

// Compaction is the word of somebody that the conversation was compacted.
type Compaction struct {
	Name string    // the same one has the same; empty: it has none
	At   time.Time // when it was
}

// SameCompaction is for how long after a worker's word that it has obeyed a report of a
// compaction is one of the same.
const SameCompaction = 10 * time.Second

// maxSeenCompactions is how many names are kept.
const maxSeenCompactions = 32

// Reported returns the compactions that telemetry reports, in its order. One has the name
// that the worker gave it, else that of its reported time; one from the future
// happened now.
func Reported(events []worker.TelemetryEvent, now time.Time) []Compaction {
	var out []Compaction
	for i := range events {
		ev := &events[i]
		if ev.Type != worker.Compacted {
			continue
		}
		c := Compaction{ev.MessageID, ev.Timestamp}
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

// Obeyed returns the compaction that a worker was asked for by a message, and says to have
// done.
func Obeyed(message string, now time.Time) Compaction {
	return Compaction{message, now.Add(SameCompaction)}
}

// Compact begins an epoch because of a report of a compaction; ok says whether it did.
// One that was reported, or is not later than the last epoch's, is noted only. A last
// epoch that lies in the future is no measure: the clock was set back since.
func (r Record) Compact(c Compaction, now time.Time) (next Record, dropped []string, ok bool) {
	if slices.Contains(r.SeenCompactions, c.Name) {
		return r, nil, false
	}
	if c.Name != "" {
		r.SeenCompactions = newestSeen(append(slices.Clip(r.SeenCompactions), c.Name))
	}
	if back := r.Compacted.After(now.Add(SameCompaction)); !c.At.After(r.Compacted) && !back {
		return r, nil, false
	}
	next, dropped = r.renewed(c.At, worker.CompactContext)
	next.Compacted = c.At
	return next, dropped, true
}

func newestSeen(names []string) []string { return names[max(0, len(names)-maxSeenCompactions):] }
