package tmux

import (
	"errors"
	"syscall"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/runtime"
)

// identified reports whether the agent's process is known, or needs no search because it has exited. If it is not
// known yet, identified searches for it and stores it in the record. Without process names the agent is the
// process that was started.
func (p *Provider) identified(r *record) bool {
	if r.Child.PID == 0 && !p.findChild(r) {
		_, err := proc.Stat(r.Root.PID)
		return err != nil // the process has exited: nothing to search for
	}
	if r.Agent != r.command() {
		return true
	}
	agent, known := driver.FindAgent(r.command(), r.ProcessNames, r.tree)
	if agent != r.command() {
		r.Agent = agent
		p.updateRecord(r, func(now *record) { now.Agent = agent })
	}
	return known
}

// findChild searches for the agent's process among the children of the waiter, the shell that runs the agent in the pane,
// and stores it in the record. It uses the first child with the instance token and reports whether there is one. After the
// agent has exited, that child may be a program that the waiter runs for itself.
func (p *Provider) findChild(r *record) bool {
	tree, err := r.tree()
	if err != nil {
		return false
	}
	for _, info := range tree {
		if info.PPID != r.Root.PID {
			continue
		}
		if token, _, err := proc.EnvValue(info.PID, proc.TokenKey); err != nil || token != r.token {
			continue
		}
		if r.Child = info.ID; r.Agent == r.Root {
			r.Agent = info.ID
		}
		p.updateRecord(r, func(now *record) { now.Child, now.Agent = r.Child, r.Agent })
		return true
	}
	return false
}

// resume sends SIGCONT to the agent's command if it has suspended itself, as after Ctrl-Z. tmux does that only for the
// process of the pane, which is the waiter (the shell that runs the agent). If the waiter is suspended too, resume does
// nothing.
func (r *record) resume() {
	if r.Child.PID == 0 {
		return
	}
	root, err := proc.Stat(r.Root.PID)
	if err != nil || root.State == proc.StateStopped { // somebody has suspended the whole session
		return
	}
	if child, err := proc.Stat(r.Child.PID); err == nil && child.ID == r.Child && child.State == proc.StateStopped {
		_ = proc.Signal(r.Child, syscall.SIGCONT) // it may have ended
	}
}

// commandEnded reports whether the agent's command has exited. The waiter, the shell in the pane that runs the command,
// exits later, when the tmux server has read all output.
func (r *record) commandEnded() bool {
	if r.Child.PID == 0 {
		return false
	}
	alive, err := proc.Alive(r.Child)
	return err == nil && !alive
}

// updateRecord applies edit to the record on disk, if it still belongs to the same launch of the agent. It does
// nothing if another caller has locked the session.
func (p *Provider) updateRecord(r *record, edit func(now *record)) {
	dir := p.dir(r.Name)
	lock, err := dir.Claim()
	if err != nil {
		return // the next observation finds the same again
	}
	defer lock.Close()
	now, err := readRecord(dir)
	if err != nil || now == nil || now.token != r.token || now.Launches != r.Launches {
		return
	}
	edit(now)
	if err := now.write(dir); err != nil {
		p.cfg.Logger.Warn("cannot update the session record", "session", r.Name, "error", err)
	}
}

// liveness returns whether the agent runs; runtime.Unknown if that cannot be determined.
func (r *record) liveness() runtime.Liveness {
	return driver.AgentLiveness(r.Agent, r.ProcessNames, r.tree)
}

// tree returns the live processes of the session, parents first, without the waiter (gc's own shell in the pane).
func (r *record) tree() ([]proc.Info, error) {
	tree, err := proc.Tree(r.Root.PID)
	if errors.Is(err, proc.ErrGone) || err == nil && len(tree) > 0 && tree[0].ID != r.Root {
		return nil, nil // another process may have this pid now
	}
	return proc.Live(tree, r.Root.PID), err
}
