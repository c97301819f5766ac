package tmux

import (
	"errors"
	"os"

	"gascity/internal/tmux/server"
	"gascity/runtime"
)

// ConfigureServer implements runtime.ServerLifecycleProvider: the present
// configuration is applied to a server that runs.
func (p *Provider) ConfigureServer() error {
	ctx, cancel := bounded()
	defer cancel()
	err := p.server.Configure(ctx)
	if server.Absent(err) {
		return nil
	}
	return fold("configure the server of", "", err)
}

// RetireServer ends the server if there is no session in it, neither one that runs nor one whose agent
// has exited. Otherwise, and without a server, it does nothing.
func (p *Provider) RetireServer() error {
	ctx, cancel := bounded()
	defer cancel()
	ended, err := p.server.Retire(ctx)
	if err != nil || !ended {
		return fold("end the server of", "", err)
	}
	p.panes.unlisten()
	_ = os.Remove(p.sessions()) // what was lost has a record in it
	return nil
}

// TeardownServer implements runtime.ServerLifecycleProvider. A server with
// sessions that run is refused. Nothing is left but the folder.
func (p *Provider) TeardownServer() error {
	const op = "tear down the server of"
	ctx, cancel := bounded()
	defer cancel()
	list, _, err := p.server.List(ctx)
	if err != nil && !server.Absent(err) {
		return fold(op, "", err)
	}
	for _, s := range list {
		if !s.Dead {
			return &runtime.Error{Op: op, Session: s.Name, Err: errors.New("the session still runs: stop it first")}
		}
	}
	if server.Absent(err) {
		err = p.server.RemoveFiles(ctx)
	} else if err = p.server.Shutdown(ctx); err == nil {
		err = p.server.RemoveFiles(ctx)
	}
	if err == nil {
		p.panes.unlisten()
		_ = os.Remove(p.sessions()) // what was lost has a record in it
	}
	return fold(op, "", err)
}
