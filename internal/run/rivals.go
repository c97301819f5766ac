package run

import (
	"slices"
	"time"
)

// Rivals notices two workers that speak for one run: each takes the stream from the other,
// again and again. Once is a worker that connects anew. The zero value has noticed nothing.
type Rivals struct {
	taken []time.Time // of late
}

const (
	rivalTimes  = 4
	rivalWithin = time.Minute
)

// Taken notes that a stream was taken from a reader that was there. It reports whether that
// shows rivals who were not known before.
func (r *Rivals) Taken(now time.Time) bool {
	before := r.Known(now)
	r.taken = append(r.taken, now)
	return !before && r.Known(now)
}

// Known reports whether there are rivals.
func (r *Rivals) Known(now time.Time) bool {
	r.taken = slices.DeleteFunc(r.taken, func(at time.Time) bool { return now.Sub(at) > rivalWithin || at.After(now) })
	r.taken = r.taken[max(0, len(r.taken)-rivalTimes):]
	return len(r.taken) == rivalTimes
}
