package shimdriver

import (
	"context"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/runtime"
)

// identify sets the agent's process in the shim, see [driver.WaitForAgent].
func (s *Sessions) identify(ctx context.Context, name string) {
	driver.WaitForAgent(ctx, func(ctx context.Context) bool {
		observed, err := s.live(ctx, "identify", name)
		return err != nil || s.identified(ctx, &observed)
	})
}

// identified reports whether the agent's process is known, after it has tried to identify it. Without process names the agent
// is the process that was started.
func (s *Sessions) identified(ctx context.Context, observed *shim.Observation) bool {
	r := *observed.Record
	if observed.State.Agent != r.Root {
		return true
	}
	agent, known := driver.FindAgent(r.Root, r.ProcessNames, treeOf(*observed))
	if agent == r.Root {
		return known
	}
	if err := observed.Client.SetAgent(ctx, agent); err != nil {
		s.opts.Logger.Warn("cannot store which process is the agent", "session", r.Name, "error", err)
		return false
	}
	observed.State.Agent = agent
	return true
}

// agentLife returns whether the agent runs.
func agentLife(observed shim.Observation) runtime.Liveness {
	return driver.AgentLiveness(observed.State.Agent, observed.Record.ProcessNames, treeOf(observed))
}

// treeOf returns a function that reads the live processes of a session, parents before children. The shim is the ancestor of all
// of them, also of those whose parents have exited.
func treeOf(observed shim.Observation) func() ([]proc.Info, error) {
	pid := observed.Record.Shim.PID
	return func() ([]proc.Info, error) {
		tree, err := proc.Tree(pid)
		return proc.Live(tree, pid), err
	}
}
