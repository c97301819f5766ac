package tmux

import (
	"slices"
	"time"
)

const (
	// window is the period over which output is counted.
	window = 250 * time.Millisecond
	// windowBytes is the number of bytes that all panes together may print within a window, 1 MiB/s. If they
	// print more, the panes that print most are paused. tmux sends 1 to 4 MB/s to a control client, and a reply waits
	// until the queued output is sent.
	windowBytes = 256 << 10
	// pauseTime is the time that a pane stays paused. Its program continues to run. The alternative, turning a pane
	// off (refresh-client -A PANE:off), does not work: tmux 3.3a, 3.5a and 3.6a crashed soon after such a pane was
	// turned on again.
	pauseTime = 250 * time.Millisecond
)

// throttle counts the output of panes and decides which panes to pause, so that a flood of output does not delay
// replies. Owned by the reader of a connection.
type throttle struct {
	began time.Time
	total int
	bytes map[string]int
}

// add counts size bytes of output of a pane. If the window has reached windowBytes, add resets it and returns the panes
// to pause: those that printed more than half of an equal share of windowBytes.
func (t *throttle) add(pane string, size int, now time.Time) []string {
	if now.Sub(t.began) >= window || t.bytes == nil {
		t.reset(now)
	}
	t.bytes[pane] += size
	if t.total += size; t.total < windowBytes {
		return nil
	}
	var loud []string
	for pane, size := range t.bytes {
		if size > windowBytes/len(t.bytes)/2 {
			loud = append(loud, pane)
		}
	}
	t.reset(now)
	return loud
}

// reset begins a new window.
func (t *throttle) reset(now time.Time) {
	if t.bytes == nil {
		t.bytes = map[string]int{}
	}
	clear(t.bytes)
	t.began, t.total = now, 0
}

// pausedGroup is a group of panes that were paused together and are continued at the time until.
type pausedGroup struct {
	panes []string
	until time.Time
}

// pause pauses panes for pauseTime. The reader calls it.
func (c *connection) pause(panes []string, now time.Time) {
	c.mu.Lock()
	c.pausedPanes = append(c.pausedPanes, pausedGroup{panes, now.Add(pauseTime)})
	c.mu.Unlock()
	_ = c.send(toEach(panes, "pause")...) // an error means that the connection is broken: nothing to pause
	c.wakeWriter()                        // the writer continues them
}

// toEach returns one request for each pane that applies the action, "pause" or "continue". No caller waits for the replies.
func toEach(panes []string, action string) []*request {
	requests := make([]*request, 0, len(panes))
	for _, pane := range panes {
		requests = append(requests, &request{command: cmd("refresh-client", "-A", pane+":"+action)})
	}
	return requests
}

// resumePaused continues the panes whose pause is over. next is the time until the next pause is over; some is false if
// no pane is paused.
func (c *connection) resumePaused(now time.Time) (next time.Duration, some bool) {
	c.mu.Lock()
	var due []pausedGroup
	for len(c.pausedPanes) > 0 && !c.pausedPanes[0].until.After(now) {
		due = append(due, c.pausedPanes[0])
		c.pausedPanes = c.pausedPanes[1:]
	}
	if some = len(c.pausedPanes) > 0; some {
		next = c.pausedPanes[0].until.Sub(now)
	}
	c.mu.Unlock()
	for _, group := range due {
		// tmux reports the pause inside the reply to the pause command, so handle does not see it. Therefore the gap is
		// published here.
		for _, pane := range group.panes {
			c.publishEvent(controlEvent{Kind: eventOutput, Pane: pane, Gap: true})
		}
		panes := slices.DeleteFunc(slices.Clone(group.panes), c.isPaused)
		_ = c.send(toEach(panes, "continue")...) // as in pause
	}
	return next, some
}
