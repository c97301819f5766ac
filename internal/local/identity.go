package local

import (
	"context"
	"slices"

	"gascity/internal/proc"
	"gascity/internal/shim"
	"gascity/runtime"
)

// The agent is a process that we own, known by number and start time, whatever
// it calls itself later. Which one it is, is found out once it is ready: the
// first process of the tree that has one of the configured names, else the first
// that is not a shell, else the one that was started.

// identify tells the shim which process the agent is.
func (s *Sessions) identify(ctx context.Context, name string) {
	sight, err := s.live(ctx, "identify", name)
	if err != nil || len(sight.Record.ProcessNames) == 0 {
		return // without names the agent is what was started
	}
	tree, err := agentTree(sight)
	if err != nil {
		return
	}
	if id := agentOf(tree, *sight.Record); id != sight.State.Agent {
		if err := sight.Client.SetAgent(ctx, id); err != nil {
			s.opts.Logger.Warn("cannot note the agent's process", "session", name, "error", err)
		}
	}
}

func agentOf(tree []proc.Info, r shim.Record) proc.ID {
	for _, fits := range []func(proc.Info) bool{
		func(i proc.Info) bool { fits, err := matches(i, r.ProcessNames); return fits && err == nil },
		func(i proc.Info) bool { return !isShell(i) },
	} {
		if at := slices.IndexFunc(tree, fits); at >= 0 {
			return tree[at].ID
		}
	}
	return r.Root
}

// agentLife tells whether the agent lives. The process that was identified
// decides; if it has ended, another one with a configured name takes its place,
// as agents do that start themselves again.
func agentLife(sight shim.Sight) runtime.Liveness {
	alive, err := proc.Alive(sight.State.Agent)
	if err != nil {
		return runtime.Unknown
	}
	if alive {
		return runtime.Alive
	}
	life := successorLife(sight)
	if life == runtime.Dead { // a process whose parent ended during the look was in no tree
		life = successorLife(sight)
	}
	return life
}

func successorLife(sight shim.Sight) runtime.Liveness {
	tree, err := agentTree(sight)
	if err != nil {
		return runtime.Unknown
	}
	life := runtime.Dead
	for _, info := range tree {
		switch fits, err := matches(info, sight.Record.ProcessNames); {
		case err != nil:
			life = runtime.Unknown
		case fits:
			return runtime.Alive
		}
	}
	return life
}

func isShell(i proc.Info) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh"}, i.Comm)
}
