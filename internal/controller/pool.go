package controller

import (
	"context"
	"maps"
	"time"

	"gascity/internal/plan"
)

const countLimit = 30 * time.Second // of one pool's check

// countPools asks the checks of the pools how many members they want, each at
// most once at a time. A check that fails changes nothing.
func (l *loop) countPools() {
	if l.c.opts.Count == nil || l.unread != "" || l.ending != nil {
		return
	}
	for i := range l.loaded.Desired.Pools {
		p := &l.loaded.Desired.Pools[i]
		if p.Check == "" || l.counting[p.Agent] {
			continue
		}
		l.counting[p.Agent] = true
		l.countPool(p)
	}
}

func (l *loop) countPool(p *plan.Pool) {
	l.aside(countLimit, func(ctx context.Context) func() {
		n, err := l.c.opts.Count(ctx, p)
		return func() {
			delete(l.counting, p.Agent)
			before, known := l.poolWants[p.Agent]
			switch {
			case err != nil:
				if l.poolFaults[p.Agent] == "" {
					l.c.opts.Logger.Warn("the check of a pool fails; it keeps what it wanted", "agent", p.Agent, "error", err)
				}
				l.poolFaults[p.Agent] = err.Error()
				return
			case known && n == before:
			default:
				l.poolWants = maps.Clone(l.poolWants)
				l.poolWants[p.Agent] = n
				l.dirty = true
			}
			delete(l.poolFaults, p.Agent)
		}
	})
}
