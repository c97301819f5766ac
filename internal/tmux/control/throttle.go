package control

import (
	"slices"
	"time"
)

const (
	// window is the time over which output is counted.
	window = 250 * time.Millisecond
	// windowBytes is how much all panes together may print within a window before those that
	// print most are paused: 1 MiB/s. tmux sends a control client 1 to 4 MB/s of a flood, and
	// a reply waits behind what is queued.
	windowBytes = 256 << 10
	// pauseTime is how long a pane stays paused. Its program goes on. Turning panes off instead
	// (refresh-client -A PANE:off), so that the server does not read them, is no way: 3.3a, 3.5a
	// and 3.6a crashed soon after such panes were turned on again.
	pauseTime = 250 * time.Millisecond
)

// throttle counts the output of panes and says which to pause, so that a flood costs neither
// the server nor us the time that replies need. Owned by the reader of a connection.
type throttle struct {
	began time.Time
	total int
	bytes map[string]int
}

// add counts output. When the window is full it returns the panes that printed more than half
// of a fair share of it.
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

func (t *throttle) reset(now time.Time) {
	if t.bytes == nil {
		t.bytes = map[string]int{}
	}
	clear(t.bytes)
	t.began, t.total = now, 0
}

// pausedGroup are panes that were paused together, until they are to be continued.
type pausedGroup struct {
	panes []string
	until time.Time
}

// pause lets panes rest. The reader calls it.
func (c *connection) pause(panes []string, now time.Time) {
	c.mu.Lock()
	c.pausedPanes = append(c.pausedPanes, pausedGroup{panes, now.Add(pauseTime)})
	c.mu.Unlock()
	_ = c.send(nil, toEach(panes, "pause")...) // a broken connection needs no pauses
	c.wakeWriter()                             // which lets them go on
}

// toEach returns the commands that do the action to each pane.
func toEach(panes []string, action string) []Command {
	commands := make([]Command, 0, len(panes))
	for _, pane := range panes {
		commands = append(commands, Cmd("refresh-client", "-A", pane+":"+action))
	}
	return commands
}

// resumePaused continues the panes that have rested, and returns how long the next one has to.
func (c *connection) resumePaused(now time.Time) (next time.Duration, some bool) {
	c.mu.Lock()
	var rested []pausedGroup
	for len(c.pausedPanes) > 0 && !c.pausedPanes[0].until.After(now) {
		rested = append(rested, c.pausedPanes[0])
		c.pausedPanes = c.pausedPanes[1:]
	}
	if some = len(c.pausedPanes) > 0; some {
		next = c.pausedPanes[0].until.Sub(now)
	}
	c.mu.Unlock()
	for _, group := range rested {
		// The report of the pause stands inside the reply to our command, so the gap is reported
		// here.
		for _, pane := range group.panes {
			c.publishEvent(Event{Kind: Output, Pane: pane, Gap: true})
		}
		panes := slices.DeleteFunc(slices.Clone(group.panes), c.isPaused)
		_ = c.send(nil, toEach(panes, "continue")...) // as in pause
	}
	return next, some
}
