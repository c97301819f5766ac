package tmux

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
	"gascity/internal/tmuxserver"
	"gascity/runtime"
)

// Start implements runtime.Runner.
func (p *Provider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := runtime.ValidateName(name); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	b := &sessionBackend{provider: p, name: name, cfg: cfg}
	if err := p.sequence(b).Start(ctx, name, cfg); err != nil {
		return fold("start", name, err)
	}
	p.identify(ctx, name)
	return nil
}

// Relaunch implements runtime.RelaunchProvider. It keeps the pane, its scrollback and the session's metadata.
func (p *Provider) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	s, err := p.observeOp(ctx, "relaunch", name)
	if err != nil {
		return err
	}
	if s.state == nil {
		return &runtime.Error{Op: "relaunch", Session: name, Err: runtime.ErrSessionNotFound}
	}
	b := &sessionBackend{provider: p, name: name, cfg: cfg, existing: s.record, record: s.record, pane: p.panes.update(s.record, *s.state)}
	if err := p.sequence(b).Relaunch(ctx, name, cfg); err != nil {
		return fold("relaunch", name, err)
	}
	p.identify(ctx, name)
	return nil
}

// RunLive implements runtime.Stager: it runs the configured live commands for a session that runs.
func (p *Provider) RunLive(name string, cfg runtime.Config) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	const op = "run live commands of"
	s, err := p.live(ctx, op, name)
	if err != nil {
		return err
	}
	if len(cfg.SessionLive) > 0 && !s.record.LeftProcesses { // the commands may start processes that stay
		if err := p.editRecord(ctx, s.record, func(now *record) { now.LeftProcesses = true }); err != nil {
			return fold(op, name, err)
		}
	}
	b := &sessionBackend{provider: p, name: name, cfg: cfg, existing: s.record, record: s.record, pane: p.panes.update(s.record, *s.state)}
	return fold(op, name, p.sequence(b).Live(ctx, name, cfg))
}

// sequence returns the start sequence for a session.
func (p *Provider) sequence(b *sessionBackend) driver.StartSequence {
	return driver.StartSequence{
		Backend: b, Profiles: p.cfg.Profiles, Environ: p.cfg.Env, PrivateDir: b.dir().Prompts(),
		Stage: driver.StageFiles(p.cfg.Logger), Deliver: func(ctx context.Context, text string) (runtime.Outcome, error) {
			return p.Deliver(ctx, b.name, runtime.Delivery{Content: runtime.TextContent(text), AllowChanges: true})
		},
		SetupTimeout: p.cfg.SetupTimeout, Warn: driver.StoreWarnings(p.cfg.Logger, b.name, p),
	}
}

// Stop implements runtime.Runner.
func (p *Provider) Stop(name string) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	return fold("stop", name, p.stop(ctx, name, nil, p.cfg.StopGrace))
}

// StopInstance implements runtime.Fencer.
func (p *Provider) StopInstance(ctx context.Context, name, token string) error {
	return fold("stop", name, p.stop(ctx, name, &token, p.cfg.StopGrace))
}

// stop stops the instance with the given token and removes its files. A nil token means any instance. It returns
// runtime.ErrStaleInstance if another instance runs, and nil if there is no session.
func (p *Provider) stop(ctx context.Context, name string, token *string, grace time.Duration) error {
	if runtime.ValidateName(name) != nil {
		return nil // such a session cannot exist
	}
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
	err = tmuxserver.RetryBusy(ctx, func() (err error) { lock, err = dir.Claim(); return err }, statedir.ErrLocked)
	return lock, err
}

// killInstance stops the processes of an instance and removes its window from the server. A negative grace kills
// without SIGTERM. The caller holds the session's lock.
func (p *Provider) killInstance(ctx context.Context, r *record, grace time.Duration) error {
	if err := r.endTree(ctx, grace); err != nil {
		return err
	}
	list, strays, err := p.server.ListNamed(ctx, r.Name)
	if err != nil && !tmuxserver.IsAbsent(err) {
		return err
	}
	for _, s := range strays {
		s.Session = "" // the window is in no session but the hub
		list = append(list, s)
	}
	for _, s := range list {
		if s.Hash != r.hash() && !s.Dead { // the process that started it was killed before it wrote the record
			if _, err := proc.KillTree(ctx, tmuxserver.IdentifyProcess(s.PID), &proc.KillOptions{Grace: grace}); err != nil {
				return err
			}
		}
		_, err := p.server.Do(ctx, tmuxserver.If(s.Pane, "#{==:#{@"+tmuxserver.OptionInstance+"},"+s.Hash+"}",
			s.Kill(), tmuxserver.Command{}))
		if err != nil && !errors.Is(err, tmuxserver.ErrNotFound) && tmuxserver.IgnoreLoss(err) != nil {
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
	opts := &proc.KillOptions{Grace: grace, MarkKey: markKey, MarkValue: r.token}
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
	if !r.Waits || r.LeftProcesses || r.Root.PID <= 1 || !proc.IsSubreaper(r.Root) {
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

// Interrupt implements runtime.Runner.
func (p *Provider) Interrupt(name string) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	err := p.interrupt(ctx, name, nil)
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}

// InterruptInstance implements runtime.Fencer.
func (p *Provider) InterruptInstance(ctx context.Context, name, token string) error {
	return p.interrupt(ctx, name, &token)
}

// interrupt interrupts the agent under a lease. token has the meaning of drive's token.
func (p *Provider) interrupt(ctx context.Context, name string, token *string) error {
	return p.drive(ctx, "interrupt", name, token, func(s drivenSession) error {
		l, err := s.lease(ctx)
		if err != nil {
			return err
		}
		return inject.Interrupt(ctx, l, s.rules)
	})
}

// Recover implements runtime.Recoverer. The handle is the instance token.
func (p *Provider) Recover(ctx context.Context, name, handle string) error {
	s, err := p.live(ctx, "recover", name)
	if err == nil && s.record.token != handle {
		err = &runtime.Error{Op: "recover", Session: name, Err: runtime.ErrStaleInstance}
	}
	return err
}
