package ops

import (
	"maps"
	"slices"

	"gascity/internal/domain/plan"
	"gascity/internal/driver/startup"
)

// Counts are what the checks of pools said, by the pool's agent. The zero value
// knows nothing. Not for concurrent use.
type Counts struct {
	Wants  map[string]int    // replaced and never changed
	Faults map[string]string // why checks fail; replaced and never changed

	under map[string]bool // checks that run
}

// Begin reports whether the check of a pool is to be run now: each runs at most
// once at a time. [Counts.End] must follow.
func (c *Counts) Begin(p *plan.Pool) bool {
	if p.Check == "" || c.under[p.Agent] {
		return false
	}
	if c.under == nil {
		c.under = map[string]bool{}
	}
	c.under[p.Agent] = true
	return true
}

// End takes the answer of a check, and reports whether it is another one than
// before, or the first failure in a row. A check that fails leaves the number.
func (c *Counts) End(p *plan.Pool, n int, err error) (fresh bool) {
	delete(c.under, p.Agent)
	_, failed := c.Faults[p.Agent]
	if err != nil || failed {
		faults := maps.Clone(c.Faults)
		if faults == nil {
			faults = map[string]string{}
		}
		if delete(faults, p.Agent); err != nil {
			faults[p.Agent] = startup.Brief(err)
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
	if wants == nil {
		wants = map[string]int{}
	}
	wants[p.Agent] = n
	c.Wants = wants
	return true
}

// Warnings returns the failures of the checks, sorted.
func (c *Counts) Warnings() []string {
	var out []string
	for _, pool := range slices.Sorted(maps.Keys(c.Faults)) {
		out = append(out, "the check of the pool "+pool+" fails: "+c.Faults[pool])
	}
	return out
}
