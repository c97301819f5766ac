package tmux

import (
	"context"

	"gascity/runtime"
)

// Watch keeps the contract of runtime.Watcher.
func (p *Provider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	events := p.town.feeds.Add(ctx, p.town.ctx)
	p.town.touch() // which takes up a server that runs
	return events, nil
}
