package reach

import (
	"maps"

	"gascity/internal/plan"
)

// Counts are what the checks of pools said, by the pool's agent. The zero value
// knows nothing. Not for concurrent use.
type Counts struct {
	Wants map[string]int // replaced and never changed

	under  map[string]bool // checks that run
	faulty map[string]bool
}

// Begin reports whether the check of a pool is to be run now: each runs at most
// once at a time. [Counts.End] must follow.
func (c *Counts) Begin(p *plan.Pool) bool {
	if p.Check == "" || c.under[p.Agent] {
		return false
	}
	if c.under == nil {
		c.under, c.faulty = map[string]bool{}, map[string]bool{}
	}
	c.under[p.Agent] = true
	return true
}

// End takes the answer of a check, and reports whether it is another one than
// before, or the first failure in a row. A check that fails changes nothing.
func (c *Counts) End(p *plan.Pool, n int, err error) (fresh bool) {
	delete(c.under, p.Agent)
	if err != nil {
		fresh = !c.faulty[p.Agent]
		c.faulty[p.Agent] = true
		return fresh
	}
	delete(c.faulty, p.Agent)
	if before, known := c.Wants[p.Agent]; known && before == n {
		return false
	}
	wants := maps.Clone(c.Wants)
	if wants == nil {
		wants = map[string]int{}
	}
	wants[p.Agent] = n
	c.Wants = wants
	return true
}
