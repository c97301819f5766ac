package tmux

import (
	"context"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// SetHints implements runtime.Hinter. It writes the hints to the session's record, so later processes use them
// too.
func (p *Provider) SetHints(ctx context.Context, name, instance string, hints runtime.Hints) error {
	const op = "set the hints of"
	s, err := p.live(ctx, op, name)
	if err != nil {
		return err
	}
	lock, err := claimFolder(ctx, p.dir(name))
	if err != nil {
		return fold(op, name, err)
	}
	defer lock.Close()
	now, err := readRecord(p.dir(name))
	switch {
	case err != nil:
		return fold(op, name, err)
	case now == nil || now.token != s.record.token, instance != "" && instance != now.token:
		return &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	now.ProcessNames, now.Labels = hints.ProcessNames, screen.HintedLabels(now.Labels, hints)
	return fold(op, name, now.write(p.dir(name)))
}
