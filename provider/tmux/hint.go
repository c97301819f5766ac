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
	current := false
	err = p.editRecord(ctx, s.record, func(now *record) {
		if current = instance == "" || instance == now.token; current {
			now.ProcessNames, now.Labels = hints.ProcessNames, screen.HintedLabels(now.Labels, hints)
		}
	})
	if err == nil && !current {
		err = runtime.ErrStaleInstance
	}
	return fold(op, name, err)
}
