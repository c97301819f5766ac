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

// sight is what one look at a session found.
type sight struct {
	record *record       // nil if there is no such session
	state  *server.State // nil if the server has no pane for it
	busy   bool          // somebody is starting or ending it just now
}

// live reports whether the session runs.
func (s sight) live() bool { return s.state != nil && !s.state.Dead }

// lost reports whether the server, or somebody else, took the session away.
func (s sight) lost() bool { return s.record != nil && s.state == nil && !s.busy }

// see looks at the named session now. An error means that nothing is known.
func (p *Provider) see(ctx context.Context, name string) (sight, error) {
	if runtime.ValidateName(name) != nil {
		return sight{}, nil //nolint:nilerr // such a session cannot exist
	}
	dir := p.dir(name)
	for try := 0; ; try++ {
		s, err := p.glance(ctx, dir)
		if err != nil || s.record == nil || s.state != nil || s.busy || try == 2 {
			return s, err
		}
		if now, err := readRecord(dir); err != nil || now != nil && now.token == s.record.token && now.Pane == s.record.Pane {
			return s, err // it did not change while we looked
		}
	}
}

// glance is one attempt to see: what it found may be changing.
func (p *Provider) glance(ctx context.Context, dir statedir.Folder) (sight, error) {
	r, err := readRecord(dir)
	if err == nil && r == nil && p.lost.suspect(dir, p.sessions()) {
		if err = p.restore(ctx); err == nil {
			r, err = readRecord(dir)
		}
	}
	if err != nil {
		return sight{}, err
	}
	s := sight{record: r}
	if r != nil {
		state, err := p.stateOf(ctx, r)
		if err == nil {
			s.state = &state
			p.lost.saw(dir, r.Root)
			p.town.know(r, state)
			return s, nil
		}
		if !errors.Is(err, server.ErrNotOurs) {
			return s, err
		}
	}
	if s.busy, err = dir.Held(); err != nil {
		return sight{}, err
	}
	return s, nil
}

// look is see with the names in the error.
func (p *Provider) look(ctx context.Context, op, name string) (sight, error) {
	s, err := p.see(ctx, name)
	return s, fold(op, name, err)
}

// live returns a session that runs; [runtime.ErrSessionNotFound] if it does not.
func (p *Provider) live(ctx context.Context, op, name string) (sight, error) {
	s, err := p.look(ctx, op, name)
	if err == nil && !s.live() {
		err = &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
	}
	return s, err
}

// seat is a session that can be driven.
type seat struct {
	*record

	provider *Provider
	pane     *pane
	rules    screen.Rules
	terminal *terminal
}

func (p *Provider) seatOf(s sight) seat {
	rules := screen.RulesOf(s.record.Labels, p.cfg.Profiles)
	rules.HumanQuiet = p.cfg.HumanQuiet
	pane := p.town.know(s.record, *s.state)
	return seat{record: s.record, provider: p, pane: pane, rules: rules, terminal: &terminal{provider: p, record: s.record, pane: pane}}
}

// drive calls do with the session's input to itself: nothing that another process or
// goroutine types comes in between. token is that of the instance that is meant; nil
// means any.
func (p *Provider) drive(ctx context.Context, op, name string, token *string, do func(seat) error) error {
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
	return fold(op, name, do(p.seatOf(s)))
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
