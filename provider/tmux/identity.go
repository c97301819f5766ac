package tmux

import (
	"context"
	"errors"
	"syscall"
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
	if r.Waits && r.Child.PID == 0 && !p.findChild(r) {
		_, err := proc.Stat(r.Root.PID)
		return err != nil // it ends; there is nothing to find out
	}
	if len(r.ProcessNames) == 0 || r.Agent != r.command() {
		return true
	}
	root, err := proc.Stat(r.command().PID)
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
	if !ok || agent.ID == r.command() {
		return !root.IsShell()
	}
	r.Agent = agent.ID
	p.change(r, func(now *record) { now.Agent = agent.ID })
	return true
}

// findChild reports whether it is known which process the waiter runs, and finds it out if it can be: the
// first child with the instance token. Behind the agent's end it may be a program of the waiter's own.
func (p *Provider) findChild(r *record) bool {
	tree, err := r.tree()
	if err != nil {
		return false
	}
	for _, info := range tree {
		if info.PPID != r.Root.PID {
			continue
		}
		if token, _, err := proc.EnvValue(info.PID, markKey); err != nil || token != r.token {
			continue
		}
		if r.Child = info.ID; r.Agent == r.Root {
			r.Agent = info.ID
		}
		p.change(r, func(now *record) { now.Child, now.Agent = r.Child, r.Agent })
		return true
	}
	return false
}

// resume continues an agent that has stopped itself, as at Ctrl-Z. tmux continues a pane's process that
// has stopped, and that is the waiter.
func (r *record) resume() {
	if r.Child.PID == 0 {
		return
	}
	root, err := proc.Stat(r.Root.PID)
	if err != nil || root.State == proc.StateStopped { // somebody stops all of it
		return
	}
	if child, err := proc.Stat(r.Child.PID); err == nil && child.ID == r.Child && child.State == proc.StateStopped {
		_ = proc.Signal(r.Child, syscall.SIGCONT) // it may have ended
	}
}

// commandEnded reports whether the waiter's child has ended: the waiter follows when the server has read
// everything.
func (r *record) commandEnded() bool {
	if r.Child.PID == 0 {
		return false
	}
	alive, err := proc.Alive(r.Child)
	return err == nil && !alive
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

// tree returns the live processes of the session without the waiter, parents first.
func (r *record) tree() ([]proc.Info, error) {
	tree, err := proc.Tree(r.Root.PID)
	if errors.Is(err, proc.ErrGone) || err == nil && len(tree) > 0 && tree[0].ID != r.Root {
		return nil, nil // the number may be another process's now
	}
	if err == nil && r.Waits {
		tree = tree[1:]
	}
	return proc.Live(tree), err
}
