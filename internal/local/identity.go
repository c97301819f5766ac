package local

import (
	"context"
	"slices"
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

// identify tells the shim which process the agent is. Where a shell is to start it,
// that may take a moment; what is not there by then is found when somebody looks.
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
func (s *Sessions) identified(ctx context.Context, sight *shim.Sight) bool {
	r := *sight.Record
	if len(r.ProcessNames) == 0 || sight.State.Agent != r.Root {
		return true
	}
	root, err := proc.Stat(r.Root.PID)
	if err != nil {
		return true // it ends; there is nothing to find out
	}
	if fits, err := matches(root, r.ProcessNames); err != nil || fits {
		return true
	}
	tree, err := agentTree(*sight)
	if err != nil {
		return false
	}
	id := agentOf(tree, r)
	if id == r.Root {
		return !isShell(root)
	}
	if err := sight.Client.SetAgent(ctx, id); err != nil {
		s.opts.Logger.Warn("cannot note the agent's process", "session", r.Name, "error", err)
		return false
	}
	sight.State.Agent = id
	return true
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
