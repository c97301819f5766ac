package driver

import (
	"context"
	"fmt"
	"time"

	"gascity/internal/proc"
	"gascity/internal/retry"
	"gascity/runtime"
)

// The agent is one process of the session, identified by its process ID and start time; its name may change later. It is
// identified after it is ready: it is the first process of the tree that has one of the configured names, else the first that
// is not a shell, else the process that runs the agent's command.

const (
	identifyLimit    = time.Second           // bounds the wait for a shell to start the agent
	identifyInterval = 10 * time.Millisecond // the pause between two searches for the process
)

// WaitForAgent calls identified until it returns true, for at most a second: a shell may need a moment to start the agent. An
// agent that starts later is identified by a later observation.
func WaitForAgent(ctx context.Context, identified func(context.Context) bool) {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	for !identified(ctx) && retry.Sleep(ctx, identifyInterval) {
	}
}

// FindAgent returns the agent's process. command is the process that runs the agent's command, names are the configured names,
// and tree returns the live processes of the session, parents before children. known is false if the agent may start later.
func FindAgent(command proc.ID, names []string, tree func() ([]proc.Info, error)) (agent proc.ID, known bool) {
	if len(names) == 0 {
		return command, true
	}
	first, err := proc.Stat(command.PID)
	if err != nil {
		return command, true // the process is exiting; there is nothing to identify
	}
	if fits, err := proc.Named(first, names); err != nil || fits {
		return command, true
	}
	all, err := tree()
	if err != nil {
		return command, false
	}
	found, ok := proc.Agent(all, names)
	if !ok || found.ID == command {
		return command, !first.IsShell()
	}
	return found.ID, true
}

// AgentLiveness returns whether the agent runs; see [proc.AgentAlive].
func AgentLiveness(agent proc.ID, names []string, tree func() ([]proc.Info, error)) runtime.Liveness {
	alive, err := proc.AgentAlive(agent, tree, names)
	switch {
	case err != nil:
		return runtime.Unknown
	case alive:
		return runtime.Alive
	}
	return runtime.Dead
}

// AgentEvidence returns the evidence that the agent's process exists; it does not show the agent's activity. It returns
// [runtime.ErrSessionNotFound] if the agent has exited, even if a shell around it still runs.
func AgentEvidence(agent proc.ID, started time.Time, liveness runtime.Liveness) (runtime.Evidence, error) {
	e := runtime.Evidence{
		Source: runtime.SourceProcess, Activity: runtime.ActivityUnknown, Since: started,
		Detail: fmt.Sprintf("process %d runs", agent.PID),
	}
	switch liveness {
	case runtime.Dead:
		return e, runtime.ErrSessionNotFound
	case runtime.Unknown:
		e.Detail = "cannot determine whether the agent's process runs"
	case runtime.Alive:
	}
	return e, nil
}
