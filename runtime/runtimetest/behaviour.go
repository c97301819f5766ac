package runtimetest

import (
	"time"

	"gascity/runtime"
)

// Behaviour is what a case wants the fake agent to be like. The zero value is a
// well-behaved one: it prints a banner and its input box, takes prompts,
// records each in its ledger, works a moment, prints its answer, which has the
// prompt's first line in it, and is ready again.
type Behaviour struct {
	// Say is printed, one line for each element, before the agent draws anything.
	Say []string `json:"say,omitempty"`
	// ExitAfter makes it end by itself that long after its start with ExitCode,
	// and print LastWords on standard error.
	ExitAfter time.Duration `json:"exit_after,omitempty"`
	ExitCode  int           `json:"exit_code,omitempty"`
	LastWords string        `json:"last_words,omitempty"`
	// Hang makes it live and never become ready.
	Hang bool `json:"hang,omitempty"`
	// SlowStart is the time from its start to its input box.
	SlowStart time.Duration `json:"slow_start,omitempty"`
	// Turn is how long it works on a prompt. Ctrl-C or SIGINT cuts the turn off.
	Turn time.Duration `json:"turn,omitempty"`
	// IgnoreTerm makes it ignore SIGTERM and SIGHUP.
	IgnoreTerm bool `json:"ignore_term,omitempty"`
	// SpawnSetsid makes it start a child in a session of its own, SpawnDaemon one
	// that is re-parented. They ignore SIGTERM and SIGHUP, live for ever and are
	// recorded.
	SpawnSetsid bool `json:"spawn_setsid,omitempty"`
	SpawnDaemon bool `json:"spawn_daemon,omitempty"`
	// PrintEnv makes it write its environment, NUL-separated, to Agent.Env.
	PrintEnv bool `json:"print_env,omitempty"`
	// Dialog makes it show, before its input box, a dialog that the driver
	// under test knows, with the refusing option preselected. Refusing it, or a
	// bare Enter, ends the agent.
	Dialog bool `json:"dialog,omitempty"`
	// IgnoreFirstEnter makes it lose the first Enter after its start.
	IgnoreFirstEnter bool `json:"ignore_first_enter,omitempty"`
	// Rename makes its process call itself so, as some agents do.
	Rename string `json:"rename,omitempty"`
}

// Agent is a fake agent, ready to be started.
type Agent struct {
	// Config starts it: Command, Env, and ReadyPromptPrefix so that Start waits
	// for its input box. A case adds what it needs. An empty WorkDir is replaced
	// by a new folder.
	Config runtime.Config
	// Ledger and Env are paths at the agent's place: of its ledger, and of what
	// PrintEnv makes it write.
	Ledger, Env string
	// Process is the name that its process has for ProcessAlive.
	Process string
	// Question is a prompt on which the agent asks something, with the options
	// "yes" and "no". Empty if it cannot.
	Question string
}
