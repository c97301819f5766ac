// Package plan decides what should run and what has to be done about it.
//
// Three pure steps, none of which touches the world: [Resolve] turns a
// city's configuration into desired sessions, Diff compares them with what was
// observed, and the result is a list of actions with the reason of each. The
// controller applies them.
package plan

import (
	"time"

	"gascity/internal/config"
	"gascity/runtime"
)

// Desired is what a city's configuration asks for. It is immutable once made;
// every reload makes a new one.
type Desired struct {
	City     string    // the city's name
	Root     string    // the city's folder, absolute
	Sessions []Session // in the order of the configuration
}

// Session is one desired session, resolved to everything that a start needs.
type Session struct {
	Agent     string         // the agent's qualified name: "worker" or "dir/worker"
	Name      string         // the session's name, see agent.SessionNameFor
	Provider  string         // the runtime provider's selection: its name, or "kind:argument"
	Config    runtime.Config // ready for Provider.Start, except for the per-incarnation environment
	Suspended bool           // configured, but not to run

	// UpstreamEnv is what the agent's upstream adds to Config.Env, by variable:
	// addresses and credentials, resolved by the caller just before a start or
	// relaunch. They take part in no fingerprint; the upstream's name does.
	UpstreamEnv map[string]config.Secret

	// The fingerprints of Config, computed once.
	Core, Provision, Launch, Live string
	// Fields is runtime.FingerprintBreakdown of Config. Nil hides which fields
	// drifted, nothing else.
	Fields map[string]string

	StartTimeout time.Duration // bound of one start
	DependsOn    []string      // agents that must be ready before
}
