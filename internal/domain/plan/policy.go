package plan

import (
	"cmp"
	"time"
)

// Policy contains the rules for [Diff] that do not depend on one agent.
type Policy struct {
	// Stopping is true while the whole city stops. The agents were interrupted; gc waits until
	// StopAfter for them to exit by themselves, then stops them.
	Stopping  bool
	StopAfter time.Time

	// MaxRestarts is the number of failures within RestartWindow that put an agent in quarantine,
	// until the window contains fewer. Zero or less is no limit.
	MaxRestarts   int
	RestartWindow time.Duration

	// Disruptions is the maximum number of sessions that are down at a time because their
	// configuration changed. A session whose new start fails counts until it runs. Zero means 1.
	Disruptions int

	// Quiet is how long an agent must have been silent before it is restarted for a changed
	// configuration or for its age, or stopped because its pool shrinks. DriftWait is how long gc
	// waits for that silence after the configuration changed; zero waits forever. gc always waits
	// for attached terminals, open questions and the end of a turn.
	Quiet, DriftWait time.Duration

	// AskAfter is how long a stop for a changed configuration waits while the agent's activity is
	// unknown, before gc asks a person. Zero means 10 minutes.
	AskAfter time.Duration

	// Closed contains, by the runtime provider's selection, why nothing can be started there: it
	// is unknown, cannot be opened, or does not respond. An agent that should move there keeps
	// running where it is.
	Closed map[string]string

	// Frozen states why nothing may be started or stopped, empty if it may. Every such action
	// becomes a wait with that reason. A stop of the city or of a session that a person requested
	// is still carried out.
	Frozen string

	// ResumedAt is when the host last resumed from a suspend. For one Patrol after that no timeout
	// stops a session, and idle time before ResumedAt does not count. A zero Patrol means 30 s.
	ResumedAt time.Time
	Patrol    time.Duration

	// PoolWants contains, by the pool's agent, the number that its check printed when it last
	// succeeded. Diff limits it to the minimum and maximum of the pool. A pool that is missing
	// here wants its minimum, or the number that run if that is greater.
	PoolWants map[string]int
	// PoolFaults contains, by the pool's agent, the error of a check that currently fails.
	PoolFaults map[string]string
}

// defaultAskAfter is used if Policy.AskAfter is zero.
const defaultAskAfter = 10 * time.Minute

// defaultPatrol is used if Policy.Patrol is zero.
const defaultPatrol = 30 * time.Second

// graceEnd returns the end of the grace period after the host resumed from a suspend, in which no
// timeout stops a session; the zero time if the host did not.
func (p *Policy) graceEnd() time.Time {
	if p.ResumedAt.IsZero() {
		return time.Time{}
	}
	return p.ResumedAt.Add(cmp.Or(p.Patrol, defaultPatrol))
}
