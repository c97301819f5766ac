package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/runtime"
)

// Policy are the rules that a diff follows beside the configuration of each
// agent.
type Policy struct {
	// Stopping says that the whole city ends. Sessions that still run are left
	// alone until StopAfter, for they have been interrupted and may end by
	// themselves.
	Stopping  bool
	StopAfter time.Time

	// MaxRestarts failures within RestartWindow put an agent in quarantine until
	// the window holds fewer. Zero or less is no limit.
	MaxRestarts   int
	RestartWindow time.Duration

	// Disruptions bounds how many sessions are down at a time because their
	// configuration changed; one whose new start fails counts until it runs.
	// Zero means 1.
	Disruptions int

	// Quiet is how long an agent must have been silent before a changed
	// configuration may restart it, and DriftWait how long that is waited for;
	// zero waits for ever. Attached terminals and agents that report a turn are
	// always waited for.
	Quiet, DriftWait time.Duration

	// Frozen says why nothing may be started or ended, empty if it may: every
	// such act is decided as a wait with that reason. A city that ends does so
	// nevertheless, for a person has asked for it.
	Frozen string

	// Woke is when the host last came back from a suspend. For one Patrol after
	// that nothing is ended for a timeout, and no idle time counts from before. A
	// zero Patrol means 30 s.
	Woke   time.Time
	Patrol time.Duration

	// PoolWants holds, by the pool's agent, how many members its check asked for
	// when it last succeeded. It is clamped to the pool's bounds; a pool that is
	// not here wants its minimum.
	PoolWants map[string]int
}

// Diff decides what is to be done about each session. It is pure: the same
// arguments give the same actions in the same order, which is that of the
// configuration, then by name. Nothing is started, stopped or restarted as long
// as it is unknown whether the session lives.
func Diff(desired Desired, observed []Observed, now time.Time, policy Policy) []Action {
	d := newDiffer(desired, observed, now, policy)
	actions := make([]Action, 0, max(len(desired.Sessions), len(observed)))
	for i := range desired.Sessions {
		actions = append(actions, d.configured(&desired.Sessions[i]))
	}
	for _, o := range d.strays() {
		actions = append(actions, d.stray(o))
	}
	d.limitDisruptions(actions)
	return actions
}

// place is where a session is: a name under a provider.
type place struct{ provider, name string }

type differ struct {
	now    time.Time
	policy Policy

	sessions map[place]*Session
	seen     map[place]*Observed
	agents   map[string]*Session    // by qualified name
	homes    map[string][]*Observed // by agent: every place where it may still be
}

func newDiffer(desired Desired, observed []Observed, now time.Time, policy Policy) *differ {
	d := &differ{
		now: now, policy: policy,
		sessions: make(map[place]*Session, len(desired.Sessions)), seen: make(map[place]*Observed, len(observed)),
		agents: make(map[string]*Session, len(desired.Sessions)), homes: map[string][]*Observed{},
	}
	for i := range desired.Sessions {
		s := &desired.Sessions[i]
		d.sessions[place{s.Provider, s.Name}] = s
		d.agents[s.Agent] = s
	}
	for i := range observed {
		o := &observed[i]
		d.seen[place{o.Provider, o.Name}] = o
		if o.Agent != "" && o.Owner == OwnerUs {
			d.homes[o.Agent] = append(d.homes[o.Agent], o)
		}
	}
	return d
}

// configured decides about a session that the configuration asks for.
func (d *differ) configured(s *Session) Action {
	o := d.seen[place{s.Provider, s.Name}]
	a := Action{Verb: VerbNone, Agent: s.Agent, Session: s.Name, Provider: s.Provider, Desired: d.wanted(s)}
	if o == nil {
		return a.with(VerbNone, client.StateUnknown, "it has not been observed yet")
	}
	if decided, ok := d.untouchable(a, o); ok {
		return decided
	}
	switch {
	case o.Owner == OwnerOther && o.exists():
		return a.with(VerbNone, client.StateFailed, "the name is taken by a session of another city")
	case a.Desired != DesiredRunning:
		return d.ending(a, o)
	case o.orphaned() && o.Order == OrderNone:
		return a.with(VerbWait, client.StateLost, "the session is gone, but its agent still runs; gc restart ends it")
	case o.orphaned(), o.Order == OrderKill && o.running():
		return a.with(VerbStop, client.StateStopping, "its end was asked for")
	case o.running():
		return d.running(a, s, o)
	default:
		return d.absent(a, s, o)
	}
}

func (d *differ) wanted(s *Session) string {
	switch {
	case d.policy.Stopping:
		return DesiredStopped
	case s.Suspended:
		return DesiredSuspended
	}
	return DesiredRunning
}

// untouchable leaves a session alone that is being worked on or unknown.
func (d *differ) untouchable(a Action, o *Observed) (Action, bool) {
	if o.Working != "" {
		return a.with(VerbNone, stateDuring(o.Working), string(o.Working)+" is under way"), true
	}
	if why := o.unknown(); why != "" {
		return a.with(VerbNone, client.StateUnknown, why), true
	}
	return a, false
}

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

// ending decides about a session that is not to run.
func (d *differ) ending(a Action, o *Observed) Action {
	state, reason := client.StateStopped, "the city ends"
	switch a.Desired {
	case DesiredSuspended:
		state, reason = client.StateSuspended, "it is suspended"
	case DesiredAbsent:
		reason = "it is not configured any more"
	}
	switch {
	case !o.exists():
		return a.with(VerbNone, state, reason)
	case d.policy.Stopping && o.running() && d.now.Before(d.policy.StopAfter):
		return a.until(d.policy.StopAfter, client.StateStopping, "it was interrupted and may end by itself")
	case d.now.Before(o.StopAt):
		return a.until(o.StopAt, client.StateStopping, "the last stop failed: "+o.Fault)
	}
	return a.with(VerbStop, client.StateStopping, reason)
}

// absent decides about a session that is to run and does not.
func (d *differ) absent(a Action, s *Session, o *Observed) Action {
	oneShot := s.Config.Lifecycle == runtime.LifecycleOneShot
	state := client.StateStopped
	switch {
	case o.Fault != "":
		state = client.StateFailed
	case o.Lost:
		state = client.StateLost
	}
	switch {
	case oneShot && o.finished() && o.Order == OrderNone && !changedSince(s, o):
		a.Desired = DesiredStopped
		return a.with(VerbNone, client.StateStopped, "it has finished")
	case d.quarantine(o).After(d.now):
		return a.until(d.quarantine(o), client.StateQuarantined,
			fmt.Sprintf("%d failures within %v, the last: %s", len(d.recent(o)), d.policy.RestartWindow, o.lastEnd()))
	case d.now.Before(o.NextAt):
		return a.until(o.NextAt, state, o.lastEnd())
	}
	if former := d.elsewhere(s); former != "" {
		return a.with(VerbWait, state, former)
	}
	if missing := d.missingDependency(s); missing != "" {
		return a.with(VerbWait, state, missing)
	}
	return a.with(VerbStart, client.StateStarting, o.lastEnd())
}

// changedSince reports whether the core of the configuration is certainly
// another one than that of the last incarnation.
func changedSince(s *Session, o *Observed) bool {
	return runtime.FingerprintCurrent(o.Stored.Core) && o.Stored.Core != s.Core
}

// recent returns the failures within the window.
func (d *differ) recent(o *Observed) []time.Time {
	from := d.now.Add(-d.policy.RestartWindow)
	return slices.DeleteFunc(slices.Clone(o.Failures), func(t time.Time) bool { return !t.After(from) })
}

// quarantine returns until when the session must not start, the zero time if it
// may.
func (d *differ) quarantine(o *Observed) time.Time {
	recent := d.recent(o)
	if d.policy.MaxRestarts <= 0 || len(recent) < d.policy.MaxRestarts {
		return time.Time{}
	}
	return recent[len(recent)-d.policy.MaxRestarts].Add(d.policy.RestartWindow)
}

// elsewhere says what keeps an agent from a new place: one identity never has
// two agents.
func (d *differ) elsewhere(s *Session) string {
	for _, home := range d.homes[s.Agent] {
		if home.Provider == s.Provider && home.Name == s.Name {
			continue
		}
		if home.unknown() != "" || home.running() || home.orphaned() || home.Working != "" {
			return fmt.Sprintf("its former session %s must end first", home.Name)
		}
	}
	return ""
}

// missingDependency says which agent has to be ready before, empty if all are.
func (d *differ) missingDependency(s *Session) string {
	for _, name := range s.DependsOn {
		dep := d.agents[name]
		if dep == nil {
			return fmt.Sprintf("it depends on %s, which is not configured", name)
		}
		if !d.ready(dep) {
			return fmt.Sprintf("it waits for %s", name)
		}
	}
	return ""
}

// ready reports whether the session's start is complete, or its work done.
func (d *differ) ready(s *Session) bool {
	o := d.seen[place{s.Provider, s.Name}]
	if o == nil || o.unknown() != "" || s.Suspended {
		return false
	}
	if s.Config.Lifecycle == runtime.LifecycleOneShot {
		return o.finished() && !changedSince(s, o)
	}
	return o.running() && o.Known && o.Working != VerbStart && !o.Working.Ends()
}

// strays returns what is there without being asked for, sorted. What is not
// certainly this city's is none of its business.
func (d *differ) strays() []*Observed {
	var out []*Observed
	for at, o := range d.seen {
		if d.sessions[at] == nil && o.Owner == OwnerUs && (o.unknown() != "" || o.exists() || o.Working != "") {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Observed) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Provider, b.Provider))
	})
	return out
}

func (d *differ) stray(o *Observed) Action {
	a := Action{Verb: VerbNone, Agent: o.Agent, Session: o.Name, Provider: o.Provider, Desired: DesiredAbsent}
	if d.policy.Stopping {
		a.Desired = DesiredStopped
	}
	if decided, ok := d.untouchable(a, o); ok {
		return decided
	}
	return d.ending(a, o)
}

// limitDisruptions lets only a few changed sessions restart at a time.
func (d *differ) limitDisruptions(actions []Action) {
	left := max(1, d.policy.Disruptions)
	for _, o := range d.seen {
		if o.Disrupted || o.Working == VerbRelaunch {
			left--
		}
	}
	for i := range actions {
		a := &actions[i]
		if !a.Drifted || !a.Verb.Ends() {
			continue
		}
		if left--; left < 0 {
			*a = a.with(VerbWait, client.StateRunning, a.Reason+"; others with a changed configuration come first")
		}
	}
}

func (a Action) with(verb Verb, state, reason string) Action {
	a.Verb, a.State, a.Reason = verb, state, reason
	return a
}

func (a Action) until(after time.Time, state, reason string) Action {
	a.Verb, a.State, a.Reason, a.After = VerbWait, state, reason, after
	return a
}
