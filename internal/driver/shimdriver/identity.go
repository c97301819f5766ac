package shimdriver

import (
	"context"
	"time"

	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/runtime"
)

// The agent is a process that we own, known by number and start time, whatever
// it calls itself later. Which one it is, is found out once it is ready: the
// first process of the tree that has one of the configured names, else the first
// that is not a shell, else the one that was started.

// identifyLimit bounds the wait for a shell to start the agent.
const identifyLimit = time.Second

// identify reports to the shim which process the agent is. Where a shell is to
// start it, that may take a moment; what is not there by then is found when
// somebody looks.
func (s *Sessions) identify(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		sight, err := s.live(ctx, "identify", name)
		if err != nil || s.identified(ctx, &sight) {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// identified reports whether it is known which process the agent is, and finds it out
// if it can be. Without names the agent is what was started.
func (s *Sessions) identified(ctx context.Context, sight *shim.Observation) bool {
	r := *sight.Record
	if len(r.ProcessNames) == 0 || sight.State.Agent != r.Root {
		return true
	}
	root, err := proc.Stat(r.Root.PID)
	if err != nil {
		return true // it ends; there is nothing to find out
	}
	if fits, err := proc.Named(root, r.ProcessNames); err != nil || fits {
		return true
	}
	tree, err := agentTree(*sight)
	if err != nil {
		return false
	}
	agent, ok := proc.Agent(tree, r.ProcessNames)
	if !ok || agent.ID == r.Root {
		return !root.IsShell()
	}
	if err := sight.Client.SetAgent(ctx, agent.ID); err != nil {
		s.opts.Logger.Warn("cannot note the agent's process", "session", r.Name, "error", err)
		return false
	}
	sight.State.Agent = agent.ID
	return true
}

// agentLife reports whether the agent lives.
func agentLife(sight shim.Observation) runtime.Liveness {
	alive, err := proc.AgentAlive(sight.State.Agent, func() ([]proc.Info, error) { return agentTree(sight) }, sight.Record.ProcessNames)
	switch {
	case err != nil:
		return runtime.Unknown
	case alive:
		return runtime.Alive
	}
	return runtime.Dead
}
