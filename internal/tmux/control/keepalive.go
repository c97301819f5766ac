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
	// keepAliveAfter is how long nothing is received before the server is reminded, and how often
	// the writer looks until then.
	keepAliveAfter = 500 * time.Millisecond
	// maxKeepAlivePause bounds how long it is until the next reminder of a server that does not
	// answer: the time to it doubles.
	maxKeepAlivePause = 8 * time.Second
)

// activity counts notifications, requests that somebody waits for, and the ends of their replies. It
// wakes the writer where that waits for nothing.
type activity struct {
	count atomic.Uint64
	// watched: the writer looks at count until the server has been silent and reminded.
	watched atomic.Bool
}

func (c *connection) recordActivity() {
	if !c.canPause.Load() {
		return
	}
	c.activity.count.Add(1)
	if !c.activity.watched.Load() && c.activity.watched.CompareAndSwap(false, true) {
		c.wakeWriter()
	}
}

// keepAliveState is what the writer knows of the server's silence. Owned by the writer.
type keepAliveState struct {
	count uint64        // as it was at the last request or report
	due   time.Time     // when the server is to be reminded
	pause time.Duration // from that to the next time
	asked *batch        // the last reminder; nil if there was none since count
}

// sendKeepAlive reminds the server if it is time, and returns when to look again. A reminder that is
// answered has brought all that waited before it.
func (c *connection) sendKeepAlive(r *keepAliveState, now time.Time) (next time.Duration, some bool) {
	if !c.activity.watched.Load() {
		return 0, false
	}
	count := c.activity.count.Load()
	switch {
	case count != r.count:
		*r = keepAliveState{count: count, due: now.Add(keepAliveAfter), pause: keepAliveAfter}
	case r.asked != nil && r.asked.answered():
		c.activity.watched.Store(false)
		if c.activity.count.Load() == count || !c.activity.watched.CompareAndSwap(false, true) {
			return 0, false // or somebody has woken the writer
		}
		*r = keepAliveState{count: count, due: now.Add(keepAliveAfter), pause: keepAliveAfter}
	case !now.Before(r.due):
		r.asked = newBatch(1)
		r.asked.reminds = true
		_ = c.send(r.asked, Cmd("display-message", "-p", "")) // it fails on a broken connection, which ends
		r.due, r.pause = now.Add(r.pause), min(2*r.pause, maxKeepAlivePause)
	}
	return min(r.due.Sub(now), keepAliveAfter), true
}
