// Package plan decides what should run and what has to be done about it.
//
// Three pure steps without effects: [Resolve] turns a city's configuration into
// desired sessions, Diff compares them with what was observed, and the result
// is a list of actions with the reason of each. The controller applies them.
package plan

import (
	"slices"
	"time"

	"gascity/internal/config"
	"gascity/internal/domain/agentcontext"
	"gascity/runtime"
)

// Desired is what a city's configuration asks for. It is immutable once made;
// every reload makes a new one.
type Desired struct {
	City     string    // the city's name
	Root     string    // the city directory, absolute
	Sessions []Session // in the order of the configuration; the members of a pool by number
	Pools    []Pool    // in the order of the configuration
	// MaxSessions bounds how many sessions of the city run at any instant; zero
	// is no limit.
	MaxSessions int
}

// SessionOf returns the session of an agent, nil if there is none.
func (d *Desired) SessionOf(agent string) *Session {
	i := slices.IndexFunc(d.Sessions, func(s Session) bool { return s.Agent == agent })
	if i < 0 {
		return nil
	}
	return &d.Sessions[i]
}

// PendingPolicy is what happens to a question without an answer.
type PendingPolicy struct {
	Policy string        // "escalate", "wait", "deny" or "answer"
	After  time.Duration // how long a person has; zero with wait
	Answer string        // of the policy answer: an option's label or number, or words
}

// StallPolicy is what is done about an agent that shows no sign of progress in a turn.
type StallPolicy struct {
	After time.Duration // without a sign; zero: it is never stalled
	Act   string        // "report", "interrupt" or "restart"; empty is report
}

// Session is one desired session, resolved to everything that a start needs.
type Session struct {
	Agent     string         // the agent's qualified name: "worker" or "dir/worker"
	Name      string         // the session's name, see agent.SessionNameFor
	Provider  string         // the runtime provider's selection: its name, or "kind:argument"
	Config    runtime.Config // ready for Provider.Start, except for the environment of an instance
	Section   string         // a hash of its section without the name; empty: of a pool
	Suspended bool           // configured, but not to run
	PathCheck string         // a program that must be found besides that of its command; empty: none

	// ByWorker: the agent speaks the worker API itself, and gets nothing otherwise.
	ByWorker bool
	// Protocol: the agent speaks the Agent Client Protocol.
	Protocol bool
	// Typed is why its prompts are typed into its terminal; empty: they go by the native channel
	// of its agent CLI. It takes part in no fingerprint.
	Typed string

	// UpstreamEnv is what the agent's upstream adds to Config.Env, by variable:
	// addresses and credentials, resolved by the caller just before a start or
	// relaunch. They take part in no fingerprint; the upstream's name does.
	UpstreamEnv map[string]config.Secret
	// Credentials are the names of those that its worker gets whenever they are
	// renewed, beside those in UpstreamEnv. They take part in no fingerprint.
	Credentials []string

	// The fingerprints of Config, computed once.
	Core, Provision, Launch, Live string
	// Fields is runtime.FingerprintBreakdown of Config, by which a drift names what
	// has changed.
	Fields map[string]string

	StartTimeout time.Duration // bound of one start
	DependsOn    []string      // agents that must be ready before; of a pool, one member

	Pool   string // the agent of the pool that it is a member of; empty: none
	Number int    // of the member, from 1

	IdleAfter    time.Duration // idle time after which it is put to sleep; zero: never
	MaxAge       time.Duration // age after which it is started afresh; zero: never
	MaxAgeJitter time.Duration // longest addition to MaxAge
	DrainTimeout time.Duration // how long a drain waits for its acknowledgement

	Pending PendingPolicy
	Stall   StallPolicy
	// Context is what happens to a context window that fills up.
	Context ContextPolicy
	// Primer is its own description for its first context. It takes part in no fingerprint:
	// what changed in it changed in Config too.
	Primer agentcontext.Parts
	Resume Resume
}

// ContextPolicy is what happens to a context window that fills up. The thresholds are
// fractions of it; zero is never. Within bounds a compaction; zero is the default.
type ContextPolicy struct {
	WarnAt, CompactAt, HandoffAt float64
	Within                       time.Duration
}
