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

// pool is a [Pool] with its current count of members.
type pool struct {
	*Pool
	want   int
	wanted map[string]bool // the members that should run
	live   int             // sessions that run or may run, including those of previous members
	fault  string          // why its check fails, empty if it does not
}

// reason returns the reason text for a stop of a member.
func (p *pool) reason() string {
	reason := fmt.Sprintf("the pool %s wants %d", p.Agent, p.want)
	if p.fault != "" {
		reason += "; the check fails: " + p.fault + "; it keeps the previous number"
	}
	return reason
}

// countPools computes for each pool how many members should run, and which.
func (d *planner) countPools(pools []Pool) {
	for i := range pools {
		p := &pool{Pool: &pools[i], wanted: map[string]bool{}, fault: d.policy.PoolFaults[pools[i].Agent]}
		d.pools[p.Agent] = p
		for at, o := range d.observed {
			if d.mayBeOurs(at, o) && d.mayBeMember(p, at, o) && o.mayBeRunning() {
				p.live++
			}
		}
		p.want = d.count(p)
		d.choose(p)
	}
}

// mayBeOurs reports whether an observed session belongs to this city or may belong to it because
// its owner is not known yet.
func (d *planner) mayBeOurs(at session.Key, o *Observed) bool {
	return o.Owner == OwnerThisCity || o.Owner == OwnerUnknown && d.sessions[at] != nil || o.unattributed()
}

// mayBeMember reports whether an observed session belongs or belonged to the pool. A session without a
// known agent may belong to any pool, unless its name names another agent.
func (d *planner) mayBeMember(p *pool, at session.Key, o *Observed) bool {
	if s := d.sessions[at]; s != nil {
		return s.Pool == p.Agent
	}
	name := o.Agent
	if name == "" {
		parsed, ok := agent.ParseSessionName(d.city, o.Session)
		if !ok {
			return true
		}
		name = parsed
	}
	return p.isMember(name)
}

// count returns how many members of the pool should run, within its minimum and maximum. Before its
// check has succeeded once, that is the number that run now, because it is unknown whether any of
// them is surplus.
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

// The order in which members are chosen to run.
const (
	rankNeeded   = iota // it runs and is in use
	rankRunning         // it runs, or may run
	rankFailed          // it waits for another attempt; it is chosen before a new member, whose start would fail too
	rankFree            // it does not run
	rankDraining        // it was asked to finish its work
	rankOut             // never chosen: it is held, or in quarantine
)

// choose selects the members that should run: first the running ones, busy ones before others,
// then those with the lowest numbers. A member with a queued prompt, a wake request or a restart
// request runs in addition to the count.
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

// rank returns the order in which a member is chosen to run, a lower value first. o is its
// observation and may be nil.
func (d *planner) rank(o *Observed) int {
	switch {
	case o == nil:
		return rankRunning
	case o.effectiveHold().Kind != "":
		return rankOut
	case o.mayBeRunning() && o.IsDraining():
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

// mayBeRunning reports whether the session's agent runs, is about to run, or may run because its
// state is unknown.
func (o *Observed) mayBeRunning() bool {
	return o.unknown() != "" || o.Working != "" || o.running() || o.orphaned()
}

// poolOf returns the pool that the agent of an unconfigured session was a member of: if several
// match, the one with the longest name; nil if none does.
func (d *planner) poolOf(agent string) *pool {
	var found *pool
	for _, p := range d.pools {
		if p.isMember(agent) && (found == nil || len(p.Agent) > len(found.Agent)) {
			found = p
		}
	}
	return found
}

// shrink returns the action for a member that is more than its pool needs now. An idle member is
// stopped at once, because it has no work to finish; any other is drained.
func (d *planner) shrink(a Action, o *Observed, p *pool) Action {
	reason := p.reason()
	switch {
	case !o.running():
		return d.stop(a, o, reason)
	case !o.Managed:
		return a.with(VerbAdopt, client.StateRunning, "it runs already")
	case o.IsDraining():
		return d.drained(a, o)
	case o.Order == OrderKill:
		return a.with(VerbStop, client.StateStopping, "a stop was requested")
	case o.Observation.Attached > 0 || o.Pending:
		return a.with(VerbWait, client.StateRunning, reason+"; it keeps running "+d.busyReason(o))
	case o.isResting():
		if quiet := d.quietAt(o); !quiet.IsZero() {
			return a.until(quiet, client.StateRunning, reason+"; deferred until the agent is quiet")
		}
		a.Unrequested = true
		return d.stop(a, o, reason)
	case o.Epoch == 0:
		return a.with(VerbWait, client.StateRunning, reason+"; this instance cannot be asked to finish its work")
	}
	a.Drain = session.Drain{Epoch: o.Epoch, Reason: reason, Since: d.now}
	if p.DrainTimeout > 0 {
		a.Drain.Deadline = d.now.Add(p.DrainTimeout)
	}
	return a.with(VerbDrain, client.StateDraining, reason)
}
