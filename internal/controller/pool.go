package controller

import (
	"context"
	"time"

	"gascity/internal/domain/event"
)

const countLimit = 30 * time.Second // of one pool's check

// countPools runs the check command of each pool that has one. The check returns how many members
// the pool needs now.
func (l *loop) countPools() {
	if l.c.opts.Count == nil || l.unread != "" || l.ending != nil {
		return
	}
	for i := range l.loaded.Desired.Pools {
		p := &l.loaded.Desired.Pools[i]
		if !l.counts.Begin(p) {
			continue
		}
		l.spawnWithoutPass(countLimit, func(ctx context.Context) func() {
			n, err := l.c.opts.Count(ctx, p)
			return func() {
				fresh := l.counts.End(p, n, err)
				if fresh && err != nil {
					l.emit(event.PoolCheckFailed, nil, "the check of a pool fails; the pool keeps its last wanted number",
						map[string]string{"pool": p.Agent, "error": l.counts.Faults[p.Agent]})
				}
				l.dirty = l.dirty || fresh
			}
		})
	}
}
