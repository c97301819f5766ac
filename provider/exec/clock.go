package exec

import (
	"sync"
	"time"

	"gascity/runtime"
)

// clockGrain is the coarsest clock that a script may print: whole seconds, cut off.
const clockGrain = time.Second

// clock is that of a script's place, which may be off. A script looks while it is called, so the
// time of its look shows by how much. What was found is kept while it may be true: if each look had
// its own, times that stand still would seem to move. The zero value is a clock that is right.
type clock struct {
	mu  sync.Mutex
	off time.Duration // to be added to what it says
}

// adjust puts an observation, of a call that lasted from began to ended, on this machine's clock.
func (c *clock) adjust(obs runtime.Observation, began, ended time.Time) runtime.Observation {
	if obs.At.IsZero() {
		obs.At = began
		return obs
	}
	c.mu.Lock()
	c.off = min(max(c.off, began.Add(-clockGrain).Sub(obs.At)), ended.Sub(obs.At))
	off := c.off
	c.mu.Unlock()
	for _, t := range []*time.Time{&obs.At, &obs.StartedAt, &obs.LastActivity, &obs.LastInput} {
		if !t.IsZero() {
			*t = t.Add(off)
		}
	}
	if obs.Exit != nil && !obs.Exit.At.IsZero() {
		exit := *obs.Exit
		exit.At = exit.At.Add(off)
		obs.Exit = &exit
	}
	if obs.At.Before(began) { // a clock that counts seconds
		obs.At = began
	}
	return obs
}
