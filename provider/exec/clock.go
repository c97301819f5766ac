package exec

import (
	"sync"
	"time"

	"gascity/runtime"
)

// clockGrain is the lowest precision of a script's clock: whole seconds, rounded down.
const clockGrain = time.Second

// clock converts times of the script's clock, which may be wrong, to this machine's clock. A script
// reads its clock during a call, so the time of the call limits the offset. The offset is kept as
// long as it is possible: a new offset for each call would make constant times appear to change.
// The zero value has no offset.
type clock struct {
	mu  sync.Mutex
	off time.Duration // offset that is added to a time of the script
}

// adjust converts the times of an observation to this machine's clock. The call of the script
// lasted from began to ended.
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
	if obs.At.Before(began) { // the script's clock has a precision of seconds
		obs.At = began
	}
	return obs
}
