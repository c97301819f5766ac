package tmux

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"gascity/internal/driver/startup"
	"gascity/internal/overlay"
	"gascity/internal/proc"
	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
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

// RunLive implements runtime.Stager.
func (p *Provider) RunLive(name string, cfg runtime.Config) error {
	ctx, cancel := bounded()
	defer cancel()
	const op = "run live commands of"
	s, err := p.live(ctx, op, name)
	if err != nil {
		return err
	}
	b := &sessionBackend{provider: p, name: name, cfg: cfg, existing: s.record, record: s.record, pane: p.panes.update(s.record, *s.state)}
	return fold(op, name, p.sequence(b).Live(ctx, name, cfg))
}

// sequence returns the start sequence for a session. Its warnings go to the log and to the session's metadata.
func (p *Provider) sequence(b *sessionBackend) startup.Sequence {
	var warnings []string
	return startup.Sequence{
		Backend: b, Profiles: p.cfg.Profiles, Environ: p.cfg.Env, PrivateDir: b.dir().Prompts(), Stage: p.stageFiles,
		Deliver: func(ctx context.Context, text string) (runtime.Outcome, error) {
			return p.Deliver(ctx, b.name, runtime.Delivery{Content: runtime.TextContent(text), AllowChanges: true})
		},
		SetupTimeout: p.cfg.SetupTimeout,
		Warn: func(err error) {
			p.cfg.Logger.Warn("start continued after a failure", "session", b.name, "error", err)
			warnings = append(warnings, startup.Brief(err))
			if err := p.SetMeta(b.name, startup.MetaWarning, strings.Join(warnings, "\n")); err != nil {
				p.cfg.Logger.Warn("cannot save the start warnings in the session metadata", "session", b.name, "error", err)
			}
		},
	}
}

// stageFiles copies overlays and files into the working directory. It logs a warning for each file that it did not
// overwrite.
func (p *Provider) stageFiles(ctx context.Context, cfg runtime.Config) error {
	dirs := append(append([]string{}, cfg.PackOverlayDirs...), cfg.OverlayDir)
	report, err := overlay.Stage(ctx, overlay.Request{
		WorkDir: cfg.WorkDir, PackOverlayDirs: cfg.PackOverlayDirs, OverlayDir: cfg.OverlayDir,
		Slots: runtime.EffectiveOverlayProviderNames(cfg, dirs...), CopyFiles: cfg.CopyFiles,
	})
	for _, warning := range report.Warnings {
		p.cfg.Logger.Warn(warning, "work_dir", cfg.WorkDir)
	}
	return err
}

// Stop implements runtime.Runner.
func (p *Provider) Stop(name string) error {
	ctx, cancel := bounded()
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
	err = server.Retry(ctx, func() (err error) { lock, err = dir.Claim(); return err }, statedir.ErrLocked)
	return lock, err
}

// killInstance stops the processes of an instance and removes its window from the server. A negative grace kills
// without SIGTERM. The caller holds the session's lock.
func (p *Provider) killInstance(ctx context.Context, r *record, grace time.Duration) error {
	if err := r.endTree(ctx, grace); err != nil {
		return err
	}
	list, strays, err := p.server.List(ctx)
	if err != nil && !server.Absent(err) {
		return err
	}
	for _, s := range strays {
		s.Session = "" // the window is in no session but the hub
		list = append(list, s)
	}
	for _, s := range list {
		if s.Name != r.Name {
			continue
		}
		if s.Hash != r.hash() && !s.Dead { // the process that started it was killed before it wrote the record
			if _, err := proc.KillTree(ctx, server.Identify(s.PID), &proc.KillOptions{Grace: grace}); err != nil {
				return err
			}
		}
		_, err := p.server.Do(ctx, control.If(s.Pane, "#{==:#{@"+server.OptionInstance+"},"+s.Hash+"}",
			s.Kill(), control.Command{}))
		if err != nil && !errors.Is(err, control.ErrNotFound) && server.IgnoreLoss(err) != nil {
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
	opts := &proc.KillOptions{Grace: grace, MarkKey: markKey, MarkValue: r.token}
	root := r.Root
	if root.PID <= 1 { // the root is not known: KillTree searches by the token
		root = proc.ID{PID: 1 << 30} // no process has this pid
	}
	if grace >= 0 {
		tree, err := r.tree()
		if err != nil {
			return err
		}
		for _, info := range tree {
			if info.StopsOnlyOnHangup() {
				_ = proc.Signal(info.ID, syscall.SIGHUP) // fails only if the process has exited
			}
		}
	}
	_, err := proc.KillTree(ctx, root, opts)
	return err
}

// Interrupt implements runtime.Runner.
func (p *Provider) Interrupt(name string) error {
	ctx, cancel := bounded()
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
