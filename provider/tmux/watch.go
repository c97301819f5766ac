package tmux

import (
	"context"

	"gascity/runtime"
)

// Watch implements runtime.Watcher.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	events := p.panes.feeds.Subscribe(ctx, p.panes.ctx)
	p.panes.markDirty() // connects to a running server
	return events, nil
}
