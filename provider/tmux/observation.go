package tmux

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"gascity/internal/statedir"
	"gascity/internal/terminal/screen"
	"gascity/internal/tmux/server"
	"gascity/runtime"
)

// observation is what one look at a session found.
type observation struct {
	record *record       // nil if there is no such session
	state  *server.State // nil if the server has no pane for it
	busy   bool          // somebody is starting or ending it just now
}

// isLive reports whether the session runs.
func (s observation) isLive() bool { return s.state != nil && !s.state.Dead }

// isLost reports whether the server, or somebody else, took the session away.
func (s observation) isLost() bool { return s.record != nil && s.state == nil && !s.busy }

// observeSession looks at the named session now. An error means that nothing is known.
func (p *Provider) observeSession(ctx context.Context, name string) (observation, error) {
	if runtime.ValidateName(name) != nil {
		return observation{}, nil //nolint:nilerr // such a session cannot exist
	}
	dir := p.dir(name)
	for try := 0; ; try++ {
		s, err := p.observeOnce(ctx, dir)
		if err != nil || s.record == nil || s.state != nil || s.busy || try == 2 {
			return s, err
		}
		if now, err := readRecord(dir); err != nil || now != nil && now.token == s.record.token && now.Pane == s.record.Pane {
			return s, err // it did not change while we looked
		}
	}
}

// observeOnce returns one attempt to see: what it found may be changing.
func (p *Provider) observeOnce(ctx context.Context, dir statedir.Folder) (observation, error) {
	r, err := readRecord(dir)
	if err == nil && r == nil && p.restorer.mayBeUnrecorded(dir, p.sessions()) {
		if err = p.restore(ctx); err == nil {
			r, err = readRecord(dir)
		}
	}
	if err != nil {
		return observation{}, err
	}
	s := observation{record: r}
	if r != nil {
		state, err := p.stateOf(ctx, r)
		if err == nil {
			s.state = &state
			p.restorer.recordRunning(dir, r.Root)
			p.panes.update(r, state)
			return s, nil
		}
		if !errors.Is(err, server.ErrNotOurs) {
			return s, err
		}
	}
	if s.busy, err = dir.IsLocked(); err != nil {
		return observation{}, err
	}
	return s, nil
}

// observeOp is see with the names in the error.
func (p *Provider) observeOp(ctx context.Context, op, name string) (observation, error) {
	s, err := p.observeSession(ctx, name)
	return s, fold(op, name, err)
}

// live returns a session that runs; [runtime.ErrSessionNotFound] if it does not.
func (p *Provider) live(ctx context.Context, op, name string) (observation, error) {
	s, err := p.observeOp(ctx, op, name)
	if err == nil && !s.isLive() {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	return s, err
}

// drivenSession is a session that can be driven.
type drivenSession struct {
	*record

	provider *Provider
	pane     *pane
	rules    screen.Rules
	terminal *terminal
}

func (p *Provider) drivenSessionOf(s observation) drivenSession {
	rules := screen.RulesOf(s.record.Labels, p.cfg.Profiles)
	rules.HumanQuiet = p.cfg.HumanQuiet
	pane := p.panes.update(s.record, *s.state)
	return drivenSession{record: s.record, provider: p, pane: pane, rules: rules, terminal: &terminal{provider: p, record: s.record, pane: pane}}
}

// drive calls do with the session's input to itself: nothing that another process or
// goroutine types comes in between. token is that of the instance that is meant; nil
// means any.
func (p *Provider) drive(ctx context.Context, op, name string, token *string, do func(drivenSession) error) error {
	s, err := p.live(ctx, op, name)
	if err != nil {
		return err
	}
	if token != nil && *token != s.record.token {
		return &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	unlock, err := lockInput(ctx, p.dir(name))
	if err != nil {
		return fold(op, name, err)
	}
	defer unlock()
	return fold(op, name, do(p.drivenSessionOf(s)))
}

// lockInput takes the session's input. The returned function gives it back.
func lockInput(ctx context.Context, dir statedir.Folder) (unlock func(), err error) {
	file, err := os.OpenFile(dir.Input(), os.O_RDWR, 0) // the start has made it
	if errors.Is(err, fs.ErrNotExist) {
		return nil, runtime.ErrSessionNotFound
	}
	if err != nil {
		return nil, err
	}
	err = server.Retry(ctx, func() error { return statedir.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB) }, syscall.EWOULDBLOCK)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil // which gives the lock back
}
