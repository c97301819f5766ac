package runtimetest

import (
	"time"

	"gascity/runtime"
)

// Behaviour configures the fake agent of a case. The zero value behaves well: it prints a banner
// and its input box, accepts prompts, records each in its ledger, works for a moment, prints its
// answer, which contains the prompt's first line, and is ready again.
type Behaviour struct {
	// Say is printed, one line for each element, before the agent draws anything.
	Say []string `json:"say,omitempty"`
	// ExitAfter makes the agent exit this long after its start, with ExitCode, and print LastWords
	// on standard error.
	ExitAfter time.Duration `json:"exit_after,omitempty"`
	ExitCode  int           `json:"exit_code,omitempty"`
	LastWords string        `json:"last_words,omitempty"`
	// Hang makes the agent run and never become ready.
	Hang bool `json:"hang,omitempty"`
	// SlowStart is the time from its start to its input box.
	SlowStart time.Duration `json:"slow_start,omitempty"`
	// Turn is how long the agent works on a prompt. Ctrl-C or SIGINT ends the turn.
	Turn time.Duration `json:"turn,omitempty"`
	// IgnoreTerm makes it ignore SIGTERM and SIGHUP.
	IgnoreTerm bool `json:"ignore_term,omitempty"`
	// SpawnSetsid makes the agent start a child in a session of its own, SpawnDaemon a child that
	// gets another parent. The children ignore SIGTERM and SIGHUP, run without end and are recorded
	// in the ledger.
	SpawnSetsid bool `json:"spawn_setsid,omitempty"`
	SpawnDaemon bool `json:"spawn_daemon,omitempty"`
	// PrintEnv makes it write its environment, NUL-separated, to Agent.Env.
	PrintEnv bool `json:"print_env,omitempty"`
	// Dialog makes the agent show, before its input box, a dialog that the driver under test knows.
	// The refusing option is highlighted. The agent exits if that option is selected, also by Enter
	// alone.
	Dialog bool `json:"dialog,omitempty"`
	// IgnoreFirstEnter makes the agent ignore the first Enter after its start.
	IgnoreFirstEnter bool `json:"ignore_first_enter,omitempty"`
	// Rename makes the process change its name to this one, as some agents do.
	Rename string `json:"rename,omitempty"`
}

// Agent is a fake agent that a case can start.
type Agent struct {
	// Config starts the agent: Command, Env, and ReadyPromptPrefix so that Start waits for its
	// input box. A case adds what it needs. An empty WorkDir is replaced by a new directory.
	Config runtime.Config
	// Ledger and Env are paths on the agent's machine: of its ledger, and of the file that PrintEnv
	// makes it write.
	Ledger, Env string
	// Process is the name of the agent's process for ProcessAlive.
	Process string
	// Question is a prompt after which the agent asks a question with the options "yes" and "no".
	// It is empty if the agent cannot ask.
	Question string
}
