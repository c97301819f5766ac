package tmux

import (
	"errors"

	"gascity/internal/tmuxhost"
	"gascity/runtime"
)

// ConfigureServer keeps the contract of runtime.ServerLifecycleProvider: the present
// configuration is applied to a server that runs.
func (p *Provider) ConfigureServer() error {
	ctx, cancel := bounded()
	defer cancel()
	err := p.server.Configure(ctx)
	if tmuxhost.Absent(err) {
		return nil
	}
	return fold("configure the server of", "", err)
}

// TeardownServer keeps the contract of runtime.ServerLifecycleProvider. A server with
// sessions that run is refused.
func (p *Provider) TeardownServer() error {
	ctx, cancel := bounded()
	defer cancel()
	list, _, err := p.server.List(ctx)
	if tmuxhost.Absent(err) {
		return fold("tear down the server of", "", p.server.Leave(ctx))
	}
	if err != nil {
		return fold("tear down the server of", "", err)
	}
	for _, s := range list {
		if !s.Dead {
			return &runtime.Error{Op: "tear down the server of", Session: s.Name, Err: errors.New("the session still runs: stop it first")}
		}
	}
	if err = p.server.Shut(ctx); err == nil {
		err = p.server.Leave(ctx)
	}
	return fold("tear down the server of", "", err)
}
