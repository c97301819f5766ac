package tmux

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/runtime"
)

// beforeLive records that the commands of session_live may leave processes that the next stop must search for.
func (p *Provider) beforeLive(ctx context.Context, s *session, cfg runtime.Config) error {
	if r := s.terminal.record; len(cfg.SessionLive) > 0 && !r.LeftProcesses {
		return p.editRecord(ctx, r, func(now *record) { now.LeftProcesses = true })
	}
	return nil
}

// stop stops the instance with the given token and removes its files. A nil token means any instance. It returns
// runtime.ErrStaleInstance if another instance runs, and nil if there is no session.
func (p *Provider) stop(ctx context.Context, name string, token *string, grace time.Duration) error {
	dir := p.dir(name)
	r, err := readRecord(dir)
	if err != nil || r == nil {
		return err
	}
	lock, err := claimFolder(ctx, dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if r, err = readRecord(dir); err != nil {
		return err
	}
	if r == nil { // another caller has stopped the session
		return dir.Remove()
	}
	if token != nil && *token != r.token {
		return runtime.ErrStaleInstance
	}
	if err := p.killInstance(ctx, r, grace); err != nil {
		return err
	}
	return dir.Remove()
}

// claimFolder acquires the lock of the session's directory. It waits while another caller starts or stops the
// session.
func claimFolder(ctx context.Context, dir statedir.Folder) (lock *os.File, err error) {
	err = retryBusy(ctx, func() (err error) { lock, err = dir.Claim(); return err })
	return lock, err
}

// killInstance stops the processes of an instance and removes its window from the server. A negative grace kills
// without SIGTERM. The caller holds the session's lock.
func (p *Provider) killInstance(ctx context.Context, r *record, grace time.Duration) error {
	if err := r.endTree(ctx, grace); err != nil {
		return err
	}
	list, strays, err := p.server.ListNamed(ctx, r.Name)
	if err != nil && !isAbsent(err) {
		return err
	}
	for _, s := range strays {
		s.Session = "" // the window is in no session but the hub
		list = append(list, s)
	}
	for _, s := range list {
		if s.Hash != r.hash() && !s.Dead { // the process that started it was killed before it wrote the record
			if _, err := proc.KillTree(ctx, identifyProcess(s.PID), &proc.KillOptions{Grace: grace}); err != nil {
				return err
			}
		}
		_, err := p.server.Query(ctx, ifFormat(s.Pane, "#{==:#{@"+optionInstance+"},"+s.Hash+"}",
			s.Kill(), tmuxCommand{}))
		if err != nil && !errors.Is(err, errNotFound) && ignoreLoss(err) != nil {
			return err
		}
	}
	p.panes.recordStopped(r.Name, r.hash())
	return nil
}

// endTree stops every process of the instance: SIGTERM first and SIGKILL after grace. A negative grace means SIGKILL at
// once. It does nothing if the machine has restarted.
func (r *record) endTree(ctx context.Context, grace time.Duration) error {
	if !r.sameBoot() || r.Root.PID == 0 && r.token == "" {
		return nil
	}
	if done, err := r.endDescendants(ctx, grace); done || err != nil {
		return err
	}
	opts := &proc.KillOptions{Grace: grace, MarkKey: proc.TokenKey, MarkValue: r.token}
	root := r.Root
	if root.PID <= 1 { // the root is not known: KillTree searches by the token
		root = proc.ID{PID: 1 << 30} // no process has this pid
	}
	if err := r.hangUp(grace); err != nil {
		return err
	}
	_, err := proc.KillTree(ctx, root, opts)
	return err
}

// hangUp sends SIGHUP to the processes of the session that stop only on that, unless grace is negative.
func (r *record) hangUp(grace time.Duration) error {
	if grace < 0 {
		return nil
	}
	tree, err := r.tree()
	if err != nil {
		return err
	}
	for _, info := range tree {
		if info.StopsOnlyOnHangup() {
			_ = proc.Signal(info.ID, syscall.SIGHUP) // fails only if the process has exited
		}
	}
	return nil
}

// stopSignal makes the [waiter] stay after the agent has exited.
const stopSignal = syscall.SIGUSR2

// endDescendants stops all processes of an instance whose waiter is a subreaper: they are its descendants. done is false if the
// waiter is none, if it exits before the last of them, or if setup commands may have left other processes: then the search by
// the token must follow.
func (r *record) endDescendants(ctx context.Context, grace time.Duration) (done bool, err error) {
	if r.LeftProcesses || r.Root.PID <= 1 || !proc.IsSubreaper(r.Root) {
		return false, nil
	}
	waiter, err := proc.Stat(r.Root.PID)
	if err != nil || waiter.ID != r.Root || !waiter.Catches(stopSignal) {
		return false, nil //nolint:nilerr // it is exiting or starting
	}
	err = proc.Signal(r.Root, stopSignal)
	if err == nil {
		err = r.hangUp(grace)
	}
	if err == nil {
		_, err = proc.KillDescendants(ctx, r.Root, grace)
	}
	if err == nil {
		err = proc.Signal(r.Root, syscall.SIGKILL)
	}
	if err == nil {
		return true, proc.WaitGone(ctx, r.Root)
	}
	if ctx.Err() != nil || errors.Is(err, proc.ErrSurvivors) {
		return false, err
	}
	return false, nil
}
