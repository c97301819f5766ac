package tmux

import (
	"context"
	"errors"
	"time"

	"gascity/internal/proc"
	"gascity/runtime"
)

// identifyLimit bounds the wait for a shell to start the agent.
const identifyLimit = time.Second

// identify finds out which process the agent is. Where a shell is to start it, that may
// take a moment; what is not there by then is found when somebody looks.
func (p *Provider) identify(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		s, err := p.live(ctx, "identify", name)
		if err != nil || p.identified(s.record) {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// identified reports whether it is known which process the agent is, and finds it out if
// it can be. Without names the agent is what was started.
func (p *Provider) identified(r *record) bool {
	if len(r.ProcessNames) == 0 || r.Agent != r.Root {
		return true
	}
	root, err := proc.Stat(r.Root.PID)
	if err != nil {
		return true // it ends; there is nothing to find out
	}
	if fits, err := proc.Named(root, r.ProcessNames); err != nil || fits {
		return true
	}
	tree, err := r.tree()
	if err != nil {
		return false
	}
	agent, ok := proc.Agent(tree, r.ProcessNames)
	if !ok || agent.ID == r.Root {
		return !root.IsShell()
	}
	r.Agent = agent.ID
	p.change(r, func(now *record) { now.Agent = agent.ID })
	return true
}

// change writes something into the record of the present agent, unless somebody is at work
// on the session.
func (p *Provider) change(r *record, edit func(now *record)) {
	dir := p.dir(r.Name)
	lock, err := dir.Claim()
	if err != nil {
		return // who looks next finds it again
	}
	defer lock.Close()
	now, err := readRecord(dir)
	if err != nil || now == nil || now.token != r.token || now.Launches != r.Launches {
		return
	}
	edit(now)
	if err := now.write(dir); err != nil {
		p.cfg.Logger.Warn("cannot note what was found out", "session", r.Name, "error", err)
	}
}

// life reports whether the agent lives.
func (r *record) life() runtime.Liveness {
	alive, err := proc.AgentAlive(r.Agent, r.tree, r.ProcessNames)
	switch {
	case err != nil:
		return runtime.Unknown
	case alive:
		return runtime.Alive
	}
	return runtime.Dead
}

// tree returns the live processes of the session, parents first.
func (r *record) tree() ([]proc.Info, error) {
	tree, err := proc.Tree(r.Root.PID)
	if errors.Is(err, proc.ErrGone) || err == nil && len(tree) > 0 && tree[0].ID != r.Root {
		return nil, nil // the number may be another process's now
	}
	return proc.Live(tree), err
}
