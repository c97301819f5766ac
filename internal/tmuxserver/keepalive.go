package tmuxserver

import (
	"sync/atomic"
	"time"
)

// tmux pauses a pane for a client if the pane's output has waited for a second. If this is the last pane with waiting
// output, the server does not send the lines queued after that output: replies, notifications and the report of the
// pause. It sends them only with its next line (seen with tmux 3.3a, whose control_write_callback disables its own event).
//
// Therefore the client sends a keep-alive command if the server is silent after a request or a notification. It sends none
// on an idle connection. If the problem occurs there, notifications wait for the next activity.

const (
	// keepAliveAfter is the time without activity after which a keep-alive command is sent. It is also the interval at
	// which the writer checks for activity.
	keepAliveAfter = 500 * time.Millisecond
	// maxKeepAlivePause is the longest pause between keep-alive commands to a server that does not reply. The pause
	// doubles each time.
	maxKeepAlivePause = 8 * time.Second
)

// activity counts what happens on the connection to tmux: notifications, requests whose reply a caller waits for, and the
// ends of these replies.
type activity struct {
	count atomic.Uint64
	// watched: the writer checks count periodically, until a keep-alive command is answered without new activity.
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

// keepAliveState is the state of the keep-alive commands. Owned by the writer.
type keepAliveState struct {
	count uint64        // the activity count at the last check
	due   time.Time     // the time of the next keep-alive command
	pause time.Duration // the pause between it and the one after it
	asked *request      // the last keep-alive command since count; nil if there was none
}

// sendKeepAlive sends a keep-alive command if it is due, and returns the time until the next check. some is false if no
// check is necessary. The reply to a keep-alive command comes after all lines that waited in the server.
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
			return 0, false // later activity wakes the writer
		}
		*r = keepAliveState{count: count, due: now.Add(keepAliveAfter), pause: keepAliveAfter}
	case !now.Before(r.due):
		r.asked = newRequest(Cmd("display-message", "-p", ""))
		r.asked.keepAlive = true
		_ = c.send(r.asked) // fails only on a broken connection
		r.due, r.pause = now.Add(r.pause), min(2*r.pause, maxKeepAlivePause)
	}
	return min(r.due.Sub(now), keepAliveAfter), true
}
