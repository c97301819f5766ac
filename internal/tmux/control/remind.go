package control

import (
	"sync/atomic"
	"time"
)

// A server that pauses the last pane whose output waits, because we or it were slow for a second,
// leaves the lines that wait behind that output where they are until it says something else:
// replies, notifications, and that the pane is paused (seen with 3.3a, whose control_write_callback
// disables its own event). So once it has been silent after a request or a report, it is asked for
// a word. A connection on which nothing happens is not: if a server is that slow just then,
// notifications wait for the next thing that happens.

const (
	// silence is how long nothing is received before the server is reminded, and how often
	// the writer looks until then.
	silence = 500 * time.Millisecond
	// longestSilence bounds how long it is until the next reminder of a server that does not
	// answer: the time to it doubles.
	longestSilence = 8 * time.Second
)

// stir counts notifications, requests that somebody waits for, and the ends of their replies. It
// wakes the writer where that waits for nothing.
type stir struct {
	count atomic.Uint64
	// watched: the writer looks at count until the server has been silent and reminded.
	watched atomic.Bool
}

func (c *connection) stirs() {
	if !c.canPause.Load() {
		return
	}
	c.stir.count.Add(1)
	if !c.stir.watched.Load() && c.stir.watched.CompareAndSwap(false, true) {
		c.wakeWriter()
	}
}

// reminder is what the writer knows of the server's silence. Owned by the writer.
type reminder struct {
	count uint64        // as it was at the last request or report
	due   time.Time     // when the server is to be reminded
	pause time.Duration // from that to the next time
	asked *batch        // the last reminder; nil if there was none since count
}

// remind reminds the server if it is time, and returns when to look again. A reminder that is
// answered has brought all that waited before it.
func (c *connection) remind(r *reminder, now time.Time) (next time.Duration, some bool) {
	if !c.stir.watched.Load() {
		return 0, false
	}
	count := c.stir.count.Load()
	switch {
	case count != r.count:
		*r = reminder{count: count, due: now.Add(silence), pause: silence}
	case r.asked != nil && r.asked.answered():
		c.stir.watched.Store(false)
		if c.stir.count.Load() == count || !c.stir.watched.CompareAndSwap(false, true) {
			return 0, false // or somebody has woken the writer
		}
		*r = reminder{count: count, due: now.Add(silence), pause: silence}
	case !now.Before(r.due):
		r.asked = newBatch(1)
		r.asked.reminds = true
		_ = c.send(r.asked, Cmd("display-message", "-p", "")) // it fails on a broken connection, which ends
		r.due, r.pause = now.Add(r.pause), min(2*r.pause, longestSilence)
	}
	return min(r.due.Sub(now), silence), true
}
