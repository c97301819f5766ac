// Package plan decides which sessions should run and which actions are needed.
//
// [Resolve] turns a city's configuration into desired sessions. [Diff] compares them with the
// observed sessions and returns a list of actions with their reasons. The controller carries out
// the actions. This package changes nothing itself.
//
// A session's start belongs to its plan: the sections of context that the city sends to the agent
// ([ContextParts]), and the conversation that the start resumes ([ChooseConversation]). The same
// parts and mode give the same bytes for "gc prime" and for context that gc sends.
package plan

import (
	"time"

	"gascity/internal/config"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// Desired is the result of resolving a city's configuration. It is immutable; every reload creates
// a new one.
type Desired struct {
	City     string     // the city's name
	Sessions []*Session // in the order of the configuration; the members of a pool by number
	Pools    []Pool     // in the order of the configuration
	// MaxSessions is the maximum number of sessions of the city that run at the same time; zero is
	// no limit.
	MaxSessions int
}

// SessionOf returns the session of an agent, nil if there is none.
func (d *Desired) SessionOf(agent string) *Session {
	for _, s := range d.Sessions {
		if s.Agent == agent {
			return s
		}
	}
	return nil
}

// PendingPolicy is the policy for a question that has no answer.
type PendingPolicy struct {
	Policy string        // "escalate", "wait", "deny" or "answer"
	After  time.Duration // how long a person may take to answer; zero with wait
	Answer string        // for the policy answer: the label or number of an option, or a text
}

// StallPolicy is the policy for an agent that shows no sign of progress in a turn.
type StallPolicy struct {
	After time.Duration // time without a sign of progress; zero: the agent is never stalled
	Act   string        // "report", "interrupt" or "restart"; empty is report
}

// Session is one desired session with everything that is needed to start it.
type Session struct {
	Agent     string         // the agent's qualified name: "worker" or "dir/worker"
	Name      string         // the session's name, see agent.SessionName
	Provider  string         // the runtime provider's selection: its name, or "kind:argument"
	Config    runtime.Config // for Provider.Start, except for the environment of an instance
	Section   string         // a hash of the agent's section without its name; empty for a pool member
	Suspended bool           // configured, but must not run
	PathCheck string         // a program that must be in PATH besides the command's own; empty: none

	// ByWorker is true if the agent itself uses the worker API; prompts reach it only that way.
	ByWorker bool
	// Family is the family of the profile of its agent CLI; empty: unknown. It is not part of any
	// fingerprint.
	Family string
	// Hooks is the agent CLI whose hooks gc installs when the agent starts; empty: none. It is not part of any fingerprint.
	Hooks string
	// Protocol is true if the agent speaks the Agent Client Protocol.
	Protocol bool
	// Typed is the reason why gc types prompts into the agent's terminal; empty: gc uses the
	// native channel of the agent CLI. It is not part of any fingerprint.
	Typed string

	// UpstreamEnv contains the variables that the agent's upstream adds to Config.Env: addresses
	// and credentials. The caller resolves them just before a start or relaunch. They are not part
	// of any fingerprint; the upstream's name is.
	UpstreamEnv map[string]config.Secret
	// Credentials contains the names of the credentials that the worker gets each time they are
	// renewed, in addition to those in UpstreamEnv. They are not part of any fingerprint.
	Credentials []string

	// Fingerprints are those of Config, computed once. A comparison of Fields with stored ones shows
	// which configuration fields changed.
	session.Fingerprints

	StartTimeout time.Duration // maximum duration of one start
	DependsOn    []string      // agents that must be ready first; of a pool, one member is enough

	Pool string // the agent of its pool; empty: not a pool member

	IdleAfter    time.Duration // idle time after which the session is put to sleep; zero: never
	MaxAge       time.Duration // age after which the session is restarted; zero: never
	MaxAgeJitter time.Duration // maximum random addition to MaxAge
	DrainTimeout time.Duration // how long a drain waits for its acknowledgement

	Pending PendingPolicy
	Stall   StallPolicy
	// Context is the policy for a context window that fills up.
	Context ContextPolicy
	// Primer is the description of the agent in its first context. It is not part of any
	// fingerprint, because every change of it also changes Config.
	Primer ContextParts
	Resume Resume
}

// Key returns the key of the session's record.
func (s *Session) Key() session.Key { return session.Key{Provider: s.Provider, Session: s.Name} }

// fingerprint computes the fingerprints of the session.
func (s *Session) fingerprint() {
	s.Fingerprints = session.Fingerprints{
		Core: runtime.ConfigFingerprint(s.Config), Provision: runtime.ProvisionFingerprint(s.Config),
		Launch: runtime.LaunchFingerprint(s.Config), Live: runtime.LiveFingerprint(s.Config), Fields: runtime.FingerprintBreakdown(s.Config),
	}
}

// ContextPolicy is the policy for a context window that fills up. The thresholds are fractions of
// the window; zero means never. Within is the maximum duration of a compaction; zero means the
// default.
type ContextPolicy struct {
	WarnAt, CompactAt, HandoffAt float64
	Within                       time.Duration
}
