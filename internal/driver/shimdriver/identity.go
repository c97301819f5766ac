package shimdriver

import (
	"context"
	"time"

	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/runtime"
)

// The agent is one process of the session, identified by its process ID and start time; its name may change later. It is
// identified after it is ready: it is the first process of the tree that has one of the configured names, else the first that
// is not a shell, else the process that was started.

// identifyLimit bounds the wait for a shell to start the agent.
const identifyLimit = time.Second

// identify sets the agent's process in the shim. If a shell starts the agent, identify waits for it up to identifyLimit. An
// agent that starts later is identified by the next observation.
func (s *Sessions) identify(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		observed, err := s.live(ctx, "identify", name)
		if err != nil || s.identified(ctx, &observed) {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// identified reports whether the agent's process is known, after it has tried to identify it. Without process names the agent
// is the process that was started.
func (s *Sessions) identified(ctx context.Context, observed *shim.Observation) bool {
	r := *observed.Record
	if len(r.ProcessNames) == 0 || observed.State.Agent != r.Root {
		return true
	}
	root, err := proc.Stat(r.Root.PID)
	if err != nil {
		return true // the process is exiting; there is nothing to identify
	}
	if fits, err := proc.Named(root, r.ProcessNames); err != nil || fits {
		return true
	}
	tree, err := agentTree(*observed)
	if err != nil {
		return false
	}
	agent, ok := proc.Agent(tree, r.ProcessNames)
	if !ok || agent.ID == r.Root {
		return !root.IsShell()
	}
	if err := observed.Client.SetAgent(ctx, agent.ID); err != nil {
		s.opts.Logger.Warn("cannot store which process is the agent", "session", r.Name, "error", err)
		return false
	}
	observed.State.Agent = agent.ID
	return true
}

// agentLife returns whether the agent runs.
func agentLife(observed shim.Observation) runtime.Liveness {
	alive, err := proc.AgentAlive(observed.State.Agent, func() ([]proc.Info, error) { return agentTree(observed) }, observed.Record.ProcessNames)
	switch {
	case err != nil:
		return runtime.Unknown
	case alive:
		return runtime.Alive
	}
	return runtime.Dead
}
