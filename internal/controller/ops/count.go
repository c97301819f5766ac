package ops

import (
	"maps"
	"slices"

	"gascity/internal/domain/plan"
	"gascity/internal/driver"
)

// Counts are the results of the pools' checks, by the pool's agent. Make one with [NewCounts]. Not
// safe for concurrent use.
type Counts struct {
	Wants  map[string]int    // replaced and never changed
	Faults map[string]string // why checks fail; replaced and never changed

	under map[string]bool // pools whose check runs now
}

// NewCounts returns the counts before the first check.
func NewCounts() Counts {
	return Counts{Wants: map[string]int{}, Faults: map[string]string{}, under: map[string]bool{}}
}

// Begin reports whether the caller must run the pool's check now, and marks it as running. It
// returns false if the pool has no check or if its check already runs. Call [Counts.End] after the
// check.
func (c *Counts) Begin(p *plan.Pool) bool {
	if p.Check == "" || c.under[p.Agent] {
		return false
	}
	c.under[p.Agent] = true
	return true
}

// End records the result of a check: the wanted number n, or err. After a failed check the last
// number stays valid. fresh is true if something changed: the number is another one, the check
// failed for the first time in a row, or it works again.
func (c *Counts) End(p *plan.Pool, n int, err error) (fresh bool) {
	delete(c.under, p.Agent)
	_, failed := c.Faults[p.Agent]
	if err != nil || failed {
		faults := maps.Clone(c.Faults)
		delete(faults, p.Agent)
		if err != nil {
			faults[p.Agent] = driver.BriefError(err)
		}
		c.Faults = faults
	}
	if err != nil {
		return !failed
	}
	if before, known := c.Wants[p.Agent]; known && before == n {
		return failed
	}
	wants := maps.Clone(c.Wants)
	wants[p.Agent] = n
	c.Wants = wants
	return true
}

// Warnings returns a message for each failing check, sorted.
func (c *Counts) Warnings() []string {
	var out []string
	for _, pool := range slices.Sorted(maps.Keys(c.Faults)) {
		out = append(out, "the check of the pool "+pool+" fails: "+c.Faults[pool])
	}
	return out
}
