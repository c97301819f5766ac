package plan

import (
	"cmp"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Diff returns one action for each session. It is pure: the same arguments give the same actions
// in the same order, which is the order of the configuration, then of the names. It starts, stops
// and restarts nothing while it is unknown whether the session is alive.
func Diff(desired Desired, observed []Observed, now time.Time, policy Policy) []Action {
	d := newPlanner(desired, observed, now, policy)
	actions := make([]Action, 0, max(len(desired.Sessions), len(observed)))
	for _, s := range desired.Sessions {
		actions = append(actions, d.configured(s))
	}
	for _, o := range d.undesiredSessions() {
		actions = append(actions, d.undesiredAction(o))
	}
	d.limitDisruptions(actions)
	d.limitCounts(actions)
	d.freeze(actions)
	return actions
}

// Preview is [Diff] for a configuration that is not active yet. A desired session that was not
// observed is treated as absent.
func Preview(desired Desired, observed []Observed, now time.Time, policy Policy) []Action {
	seen := map[session.Key]bool{}
	for i := range observed {
		seen[observed[i].Key()] = true
	}
	all := slices.Clone(observed)
	for _, s := range desired.Sessions {
		if !seen[s.Key()] {
			nothing := runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead, At: now}
			all = append(all, Observed{Record: session.Record{Session: s.Name, Provider: s.Provider, Agent: s.Agent}, Observation: nothing})
		}
	}
	return Diff(desired, all, now, policy)
}

// planner is the state of one call of [Diff].
type planner struct {
	now         time.Time
	policy      Policy
	city        string
	maxSessions int // sessions of the city at any instant; zero is no limit

	sessions  map[session.Key]*Session
	observed  map[session.Key]*Observed
	agents    map[string]*Session    // by qualified name
	locations map[string][]*Observed // by agent: every session that may still run it
	pools     map[string]*pool       // by the pool's agent
	required  map[string]string      // sleeping agents that must run -> the agent that depends on them
}

// newPlanner returns a planner that has indexed its inputs and counted the members of the pools.
func newPlanner(desired Desired, observed []Observed, now time.Time, policy Policy) *planner {
	d := &planner{
		now: now, policy: policy, city: desired.City,
		sessions: make(map[session.Key]*Session, len(desired.Sessions)), observed: make(map[session.Key]*Observed, len(observed)),
		agents: make(map[string]*Session, len(desired.Sessions)), locations: map[string][]*Observed{},
		pools: make(map[string]*pool, len(desired.Pools)), required: map[string]string{}, maxSessions: desired.MaxSessions,
	}
	for _, s := range desired.Sessions {
		d.sessions[s.Key()] = s
		d.agents[s.Agent] = s
	}
	for i := range observed {
		o := &observed[i]
		d.observed[o.Key()] = o
		if o.Agent != "" && (o.Owner == OwnerThisCity || o.unattributed()) {
			d.locations[o.Agent] = append(d.locations[o.Agent], o)
		}
	}
	d.countPools(desired.Pools)
	d.findRequired(desired.Sessions)
	return d
}

// configured returns the action for a session that the configuration contains.
func (d *planner) configured(s *Session) Action {
	o := d.at(s)
	w := d.targetFor(s, o)
	a := Action{Verb: VerbNone, Agent: s.Agent, Session: s.Name, Provider: s.Provider, Desired: w.desired, Surplus: w.surplus}
	if o == nil {
		return a.with(VerbNone, client.StateUnknown, "it has not been observed yet")
	}
	if decided, ok := d.untouchable(a, o); ok {
		return decided
	}
	a.ReleaseHold = w.woken
	switch {
	case o.Owner == OwnerOther && o.exists():
		return a.with(VerbNone, client.StateFailed, "the name is taken by a session of another city")
	case w.surplus && o.exists():
		return d.shrink(a, o, d.pools[s.Pool])
	case w.surplus && d.quarantine(o).After(d.now):
		return d.quarantined(a, o)
	case w.desired != client.DesiredRunning:
		return d.ending(a, o, w)
	case o.orphaned() && o.Order == OrderNone:
		return a.with(VerbWait, client.StateLost, "the session is gone, but its agent still runs; gc restart ends it")
	case o.orphaned(), o.Order == OrderKill && o.running():
		return a.with(VerbStop, client.StateStopping, "a stop was requested")
	case o.running():
		return d.running(a, s, o)
	default:
		return d.absent(a, s, o)
	}
}

// at returns the observation of a session, nil if there is none.
func (d *planner) at(s *Session) *Observed { return d.observed[s.Key()] }

// untouchable returns true if gc must not act on the session now, because another action on it is
// in progress or its state is unknown. The returned action then does nothing and gives that reason.
func (d *planner) untouchable(a Action, o *Observed) (Action, bool) {
	if o.Working != "" {
		return a.with(VerbNone, stateDuring(o.Working), string(o.Working)+" is under way"), true
	}
	if why := o.unknown(); why != "" {
		return a.with(VerbNone, client.StateUnknown, why), true
	}
	return a, false
}

// stateDuring returns the lifecycle state to show while an action is in progress.
func stateDuring(v Verb) string {
	switch v {
	case VerbStart, VerbRelaunch:
		return client.StateStarting
	case VerbStop, VerbRestart:
		return client.StateStopping
	default:
		return client.StateRunning
	}
}

// ending returns the action for a session that must not run: none if it does not exist, a short
// wait if the city is being stopped and its agent was interrupted, otherwise a stop. w has the
// reason.
func (d *planner) ending(a Action, o *Observed, w target) Action {
	switch {
	case !o.exists():
		a.After = w.until
		return a.with(VerbNone, w.state, w.reason)
	case d.policy.Stopping && o.running() && d.now.Before(d.policy.StopAfter):
		return a.until(d.policy.StopAfter, client.StateStopping, "it was interrupted and may exit by itself")
	}
	return d.stop(a, o, w.reason)
}

// stop returns a stop, or a wait if the last stop failed a moment ago.
func (d *planner) stop(a Action, o *Observed, reason string) Action {
	if d.now.Before(o.StopAt) {
		return a.until(o.StopAt, client.StateStopping, "the last stop failed: "+o.Fault)
	}
	return a.with(VerbStop, client.StateStopping, reason)
}

// undesiredSessions returns the observed sessions of this city that the configuration does not
// contain, sorted by name. Sessions whose owner is not certainly this city are skipped.
func (d *planner) undesiredSessions() []*Observed {
	var out []*Observed
	for at, o := range d.observed {
		if d.sessions[at] == nil && o.Owner == OwnerThisCity && (o.unknown() != "" || o.exists() || o.Working != "") {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Observed) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Provider, b.Provider))
	})
	return out
}

// undesiredAction returns the action for a running session that the configuration does not contain:
// it is moved, if its agent is configured elsewhere, or stopped.
func (d *planner) undesiredAction(o *Observed) Action {
	w := target{desired: client.DesiredAbsent, state: client.StateStopped, reason: "it is not configured any more"}
	if d.policy.Stopping {
		w = targetCityStops
	}
	a := Action{Verb: VerbNone, Agent: o.Agent, Session: o.Session, Provider: o.Provider, Desired: w.desired}
	if decided, ok := d.untouchable(a, o); ok {
		return decided
	}
	if s := d.agents[o.Agent]; s != nil {
		if decided, ok := d.planMove(a, s, o); ok {
			return decided
		}
	}
	if p := d.poolOf(o.Agent); p != nil && !d.policy.Stopping && o.exists() {
		return d.shrink(a, o, p)
	}
	if o.running() && !d.policy.Stopping && d.agents[o.Agent] == nil {
		return d.removed(a, o)
	}
	return d.ending(a, o, w)
}

// with returns the action with another verb, state and reason.
func (a Action) with(verb Verb, state, reason string) Action {
	a.Verb, a.State, a.Reason = verb, state, reason
	return a
}

// until returns the action changed to a wait, at whose end gc decides again.
func (a Action) until(at time.Time, state, reason string) Action {
	a.Verb, a.State, a.Reason, a.After = VerbWait, state, reason, at
	return a
}
