package tmux

import (
	"sync/atomic"
	"time"
)

// tmux pauses a pane for a client if the pane's output has waited for a second. If this is the last pane with waiting
// output, the server does not send the lines queued after that output: replies, notifications and the report of the
// pause. It sends them only with its next line (seen with tmux 3.3a, whose control_write_callback disables its own event).
//
// Therefore the client sends a flush command, a command without effect, if the server is silent after a request or a
// notification. It sends none on an idle connection. If the problem occurs there, notifications wait for the next activity.

const (
	// flushAfter is the time without activity after which a flush command is sent. It is also the interval at
	// which the writer checks for activity.
	flushAfter = 500 * time.Millisecond
	// maxFlushPause is the longest pause between flush commands to a server that does not reply. The pause
	// doubles each time.
	maxFlushPause = 8 * time.Second
)

// activity counts what happens on the connection to tmux: notifications, requests whose reply a caller waits for, and the
// ends of these replies.
type activity struct {
	count atomic.Uint64
	// watched: the writer checks count periodically, until a flush command is answered without new activity.
	watched atomic.Bool
}

// recordActivity counts one activity and wakes the writer if it does not check count. It does nothing if the server
// cannot pause panes.
func (c *connection) recordActivity() {
	if !c.canPause.Load() {
		return
	}
	c.activity.count.Add(1)
	if !c.activity.watched.Load() && c.activity.watched.CompareAndSwap(false, true) {
		c.wakeWriter()
	}
}

// flushState is the state of the flush commands. Owned by the writer.
type flushState struct {
	count uint64        // the activity count at the last check
	due   time.Time     // the time of the next flush command
	pause time.Duration // the pause between it and the one after it
	asked *request      // the last flush command since count; nil if there was none
}

// sendFlush sends a flush command if the server has been silent for long enough, and returns the time until the next call. again
// is false if no further call is needed until new activity: after the reply to a flush command no line waits in the server.
func (c *connection) sendFlush(r *flushState, now time.Time) (next time.Duration, again bool) {
	if !c.activity.watched.Load() {
		return 0, false
	}
	count := c.activity.count.Load()
	switch {
	case count != r.count:
		*r = flushState{count: count, due: now.Add(flushAfter), pause: flushAfter}
	case r.asked != nil && r.asked.answered():
		c.activity.watched.Store(false) // first, so that activity from now on wakes the writer
		if c.activity.count.Load() == count || !c.activity.watched.CompareAndSwap(false, true) {
			return 0, false // later activity wakes the writer
		}
		*r = flushState{count: count, due: now.Add(flushAfter), pause: flushAfter}
	case !now.Before(r.due):
		r.asked = newRequest(cmd("display-message", "-p", ""))
		r.asked.flush = true
		_ = c.send(r.asked) // fails only on a broken connection
		r.due, r.pause = now.Add(r.pause), min(2*r.pause, maxFlushPause)
	}
	return min(r.due.Sub(now), flushAfter), true
}
