package plan

import (
	"cmp"
	"time"
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

	// Quiet is how long an agent must have been silent before it is restarted for
	// a changed configuration or for its age, or ended because its pool shrinks.
	// DriftWait is how long that silence is waited for after the configuration has
	// changed; zero waits for ever. Attached terminals, open questions and agents
	// in a turn are always waited for.
	Quiet, DriftWait time.Duration

	// AskAfter is how long a stop that a changed configuration asks for waits for an agent
	// whose activity is unknown, before a person is asked. Zero means 10 minutes.
	AskAfter time.Duration

	// Closed holds, by the runtime provider's selection, why nothing can be started
	// there: it is not known, cannot be opened, or does not answer. An agent that runs
	// elsewhere and is to move there goes on where it is.
	Closed map[string]string

	// Frozen says why nothing may be started or ended, empty if it may: every
	// such act is decided as a wait with that reason. What a person has asked to
	// end now, the city or a session, ends nevertheless.
	Frozen string

	// ResumedAt is when the host last came back from a suspend. For one Patrol after
	// that nothing is ended for a timeout, and no idle time counts from before. A
	// zero Patrol means 30 s.
	ResumedAt time.Time
	Patrol    time.Duration

	// PoolWants holds, by the pool's agent, how many members its check asked for
	// when it last succeeded. It is clamped to the pool's bounds. A pool that is not
	// here wants its minimum and as many as run.
	PoolWants map[string]int
	// PoolFaults holds why the check of a pool fails, as long as it does.
	PoolFaults map[string]string
}

// defaultAskAfter is the AskAfter of a policy that has none.
const defaultAskAfter = 10 * time.Minute

// defaultPatrol is the patrol of a policy that has none.
const defaultPatrol = 30 * time.Second

// graceEnd returns until when nothing is ended for a timeout, because the host
// slept; the zero time if it did not.
func (p *Policy) graceEnd() time.Time {
	if p.ResumedAt.IsZero() {
		return time.Time{}
	}
	return p.ResumedAt.Add(cmp.Or(p.Patrol, defaultPatrol))
}
