package plan

import (
	"cmp"
	"fmt"
	"slices"

	"gascity/client"
	"gascity/internal/agent"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// pool is a pool as it is now.
type pool struct {
	*Pool
	want   int
	wanted map[string]bool // the members that are to run
	live   int             // sessions that run or may run, previous members included
	fault  string          // why its check fails, empty if it does not
}

func (p *pool) reason() string {
	reason := fmt.Sprintf("the pool %s wants %d", p.Agent, p.want)
	if p.fault != "" {
		reason += "; the check fails: " + p.fault + "; it keeps the previous number"
	}
	return reason
}

// countPools decides how many members each pool wants, and which.
func (d *planner) countPools(pools []Pool) {
	for i := range pools {
		p := &pool{Pool: &pools[i], wanted: map[string]bool{}, fault: d.policy.PoolFaults[pools[i].Agent]}
		d.pools[p.Agent] = p
		for at, o := range d.observed {
			if d.mayBeOurs(at, o) && d.member(p, at, o) && o.mayBeRunning() {
				p.live++
			}
		}
		p.want = d.count(p)
		d.choose(p)
	}
}

// mayBeOurs reports whether what is at a place is, is about to be or may be this
// city's.
func (d *planner) mayBeOurs(at sessionKey, o *Observed) bool {
	return o.Owner == OwnerThisCity || o.Owner == OwnerUnknown && d.sessions[at] != nil || o.unattributed()
}

// member reports whether what is at a place belongs, or belonged, to a pool.
// What has no known agent may belong to any, unless its name shows it.
func (d *planner) member(p *pool, at sessionKey, o *Observed) bool {
	if s := d.sessions[at]; s != nil {
		return s.Pool == p.Agent
	}
	name := o.Agent
	if name == "" {
		told, ok := agent.ParseSessionName(d.city, o.Name)
		if !ok {
			return true
		}
		name = told
	}
	return p.isMember(name)
}

// count returns how many members a pool wants. Before its check has succeeded
// once, it is unknown whether any of those that run is too many.
func (d *planner) count(p *pool) int {
	n, known := d.policy.PoolWants[p.Agent]
	switch {
	case p.Check == "":
		n = p.Min
	case !known:
		n = p.live
	}
	return min(max(n, p.Min), p.Max)
}

// How soon a member is chosen to run.
const (
	rankNeeded   = iota // it runs, and somebody uses it
	rankRunning         // it runs, or may run
	rankFailed          // it waits for another try: a start of the next one would fail too
	rankFree            // it does not run
	rankDraining        // it is on its way out
	rankOut             // it is held, or in quarantine
)

// choose decides which members are to run: those that do, the busy ones first,
// then those with the lowest numbers. A member with a prompt, or one that was
// woken, runs beyond the count.
func (d *planner) choose(p *pool) {
	type candidate struct{ rank, number int }
	var candidates []candidate
	for i, name := range p.Members {
		s := d.agents[name]
		if s == nil || s.Suspended {
			continue
		}
		o := d.at(s)
		if rank := d.rank(o); rank != rankOut {
			candidates = append(candidates, candidate{rank, i})
		}
		if o != nil && (o.WakeReason != "" || o.Queued > 0 || o.Order == OrderRestart) {
			p.wanted[name] = true
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number))
	})
	for _, c := range candidates[:min(p.want, len(candidates))] {
		p.wanted[p.Members[c.number]] = true
	}
}

func (d *planner) rank(o *Observed) int {
	switch {
	case o == nil:
		return rankRunning
	case o.effectiveHold().Kind != "":
		return rankOut
	case o.mayBeRunning() && o.draining():
		return rankDraining
	case o.mayBeRunning() && d.busyReason(o) != "":
		return rankNeeded
	case o.mayBeRunning():
		return rankRunning
	case d.quarantine(o).After(d.now):
		return rankOut
	case o.Fault != "", o.Lost, o.Obstacle.Kind == runtime.ObstacleLimit, o.NextAt.After(d.now):
		return rankFailed
	}
	return rankFree
}

// mayBeRunning reports whether an agent may live here now: it does, it is about to,
// or it is unknown.
func (o *Observed) mayBeRunning() bool {
	return o.unknown() != "" || o.Working != "" || o.running() || o.orphaned()
}

// poolOf returns the pool that the agent of a stray was a member of, the one
// with the longest name if there are several.
func (d *planner) poolOf(agent string) *pool {
	var found *pool
	for _, p := range d.pools {
		if p.isMember(agent) && (found == nil || len(p.Agent) > len(found.Agent)) {
			found = p
		}
	}
	return found
}

// shrink ends a member that its pool does not want: at once if it is idle, for
// then there is nothing to wind down, else by a drain.
func (d *planner) shrink(a Action, o *Observed, p *pool) Action {
	reason := p.reason()
	switch {
	case !o.running():
		return d.stop(a, o, reason)
	case !o.Managed:
		return a.with(VerbAdopt, client.StateRunning, "it runs already")
	case o.draining():
		return d.drained(a, o)
	case o.Order == OrderKill:
		return a.with(VerbStop, client.StateStopping, "its end was asked for")
	case o.Observation.Attached > 0 || o.Pending:
		return a.with(VerbWait, client.StateRunning, reason+"; it stays "+d.busyReason(o))
	case o.isResting():
		if quiet := d.quietAt(o); !quiet.IsZero() {
			return a.until(quiet, client.StateRunning, reason+"; deferred until the agent is quiet")
		}
		a.Unrequested = true
		return d.stop(a, o, reason)
	case o.Epoch == 0:
		return a.with(VerbWait, client.StateRunning, reason+"; this instance cannot be asked to wind down")
	}
	a.Drain = session.Drain{Epoch: o.Epoch, Reason: reason, Since: d.now}
	if p.DrainTimeout > 0 {
		a.Drain.Deadline = d.now.Add(p.DrainTimeout)
	}
	return a.with(VerbDrain, client.StateDraining, reason)
}
