package tmux

import (
	"context"
	"errors"
	"io/fs"

	"gascity/internal/statedir"
	"gascity/runtime"
)

// observation is the result of one query of a session.
type observation struct {
	record *record    // nil if there is no such session
	state  *paneState // nil if the server has no pane for the session
	busy   bool       // another caller is starting or stopping the session
}

// isLive reports whether the session runs.
func (s observation) isLive() bool { return s.state != nil && !s.state.Dead }

// isLost reports whether the session has a record and no pane, and no caller is starting or stopping it. Then its
// server has exited, or somebody has closed the session inside tmux.
func (s observation) isLost() bool { return s.record != nil && s.state == nil && !s.busy }

// observeSession queries the named session. An error means that the state of the session is unknown.
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
			return s, err // the record did not change during the query
		}
	}
}

// observeOnce queries a session once. Its result may be inconsistent if the session changes meanwhile.
func (p *Provider) observeOnce(ctx context.Context, dir statedir.Folder) (observation, error) {
	r, err := readRecord(dir)
	if err == nil && r == nil && p.mayBeUnrecorded(dir) {
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
			p.observed.Record(string(dir), r.Root)
			p.panes.update(r, state)
			return s, nil
		}
		if !errors.Is(err, errNotOurs) {
			return s, err
		}
	}
	if s.busy, err = dir.IsLocked(); err != nil {
		return observation{}, err
	}
	return s, nil
}

// observeOp calls observeSession and adds the operation and the session's name to the error.
func (p *Provider) observeOp(ctx context.Context, op, name string) (observation, error) {
	s, err := p.observeSession(ctx, name)
	return s, fold(op, name, err)
}

// lockInput waits for the session's input lock. The returned function releases it.
func (p *Provider) lockInput(ctx context.Context, name string) (unlock func(), err error) {
	unlock, err = p.dir(name).LockInput(ctx) // Start has created the file
	if errors.Is(err, fs.ErrNotExist) {
		err = runtime.ErrSessionNotFound
	}
	return unlock, err
}
