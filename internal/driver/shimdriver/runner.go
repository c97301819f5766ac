package shimdriver

import (
	"context"
	"errors"

	"gascity/internal/driver"
	"gascity/runtime"
)

// Start implements runtime.Runner.
func (s *Sessions) Start(ctx context.Context, name string, cfg runtime.Config) error {
	if err := runtime.ValidateName(name); err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	if s.host != nil {
		prepared, err := s.host.Prepare(name, s.fleet.Dir(name), cfg)
		if err != nil {
			return &runtime.Error{Op: "start", Session: name, Err: err}
		}
		cfg = prepared
	}
	b := &backend{sessions: s, name: name, cfg: cfg}
	if err := s.sequence(b).Start(ctx, name, cfg); err != nil {
		return ErrorOf("start", name, err)
	}
	s.identify(ctx, name)
	return nil
}

// LaunchAgain implements runtime.RelaunchProvider.Relaunch for drivers whose sessions can replace their agent.
func (s *Sessions) LaunchAgain(ctx context.Context, name string, cfg runtime.Config) error {
	observed, err := s.inspect(ctx, "relaunch", name)
	if err != nil {
		return err
	}
	if observed.Client == nil {
		return &runtime.Error{Op: "relaunch", Session: name, Err: runtime.ErrSessionNotFound}
	}
	b := &backend{sessions: s, name: name, cfg: cfg, client: observed.Client}
	if err := s.sequence(b).Relaunch(ctx, name, cfg); err != nil {
		return ErrorOf("relaunch", name, err)
	}
	s.identify(ctx, name)
	return nil
}

// RunLive implements runtime.Stager.
func (s *Sessions) RunLive(name string, cfg runtime.Config) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	observed, err := s.live(ctx, "run live commands of", name)
	if err != nil {
		return err
	}
	b := &backend{sessions: s, name: name, cfg: cfg, client: observed.Client}
	return ErrorOf("run live commands of", name, s.sequence(b).Live(ctx, name, cfg))
}

// sequence returns the start sequence for one session.
func (s *Sessions) sequence(b *backend) driver.StartSequence {
	return driver.StartSequence{
		Backend: b, Profiles: s.opts.Profiles, Environ: s.opts.Env, PrivateDir: s.fleet.Dir(b.name),
		Stage: driver.StageFiles(s.opts.Logger), Deliver: func(ctx context.Context, text string) (runtime.Outcome, error) {
			return s.Deliver(ctx, b.name, runtime.Delivery{Content: runtime.TextContent(text), AllowChanges: true})
		},
		SetupTimeout: s.opts.SetupTimeout, Warn: driver.StoreWarnings(s.opts.Logger, b.name, s),
	}
}

// Stop implements runtime.Runner.
func (s *Sessions) Stop(name string) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	return s.stop(ctx, name, nil)
}

// StopInstance implements runtime.Fencer.
func (s *Sessions) StopInstance(ctx context.Context, name, token string) error {
	return s.stop(ctx, name, &token)
}

// stop stops the session. If token is not nil, the instance must have that token.
func (s *Sessions) stop(ctx context.Context, name string, token *string) error {
	if runtime.ValidateName(name) != nil {
		return nil //nolint:nilerr // such a session cannot exist
	}
	_, err := s.fleet.Stop(ctx, name, token, s.opts.StopGrace)
	return ErrorOf("stop", name, err)
}

// ClearLost stops the processes of sessions whose shim was killed, and removes the files of these sessions.
func (s *Sessions) ClearLost(ctx context.Context) error { return translate(s.fleet.ClearLost(ctx)) }

// Interrupt implements runtime.Runner.
func (s *Sessions) Interrupt(name string) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	err := s.interrupt(ctx, name, nil)
	if errors.Is(err, runtime.ErrSessionNotFound) {
		return nil
	}
	return err
}

// InterruptInstance implements runtime.Fencer.
func (s *Sessions) InterruptInstance(ctx context.Context, name, token string) error {
	return s.interrupt(ctx, name, &token)
}

// interrupt interrupts the agent. If token is not nil, the instance must have that token.
func (s *Sessions) interrupt(ctx context.Context, name string, token *string) error {
	return s.Drive(ctx, "interrupt", name, token, func(l Live) error {
		switch {
		case s.host != nil:
			return s.host.Interrupt(ctx, l)
		case l.Terminal == nil:
			return l.Client.Interrupt(ctx)
		}
		return l.interruptTurn(ctx)
	})
}

// Recover implements runtime.Recoverer. handle is the instance token.
func (s *Sessions) Recover(ctx context.Context, name, handle string) error {
	observed, err := s.live(ctx, "recover", name)
	if err == nil && observed.Token != handle {
		err = &runtime.Error{Op: "recover", Session: name, Err: runtime.ErrStaleInstance}
	}
	return err
}
