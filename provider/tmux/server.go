package tmux

import (
	"errors"
	"os"

	"gascity/internal/driver"
	"gascity/runtime"
)

// ConfigureServer implements runtime.ServerLifecycleProvider. It applies the current configuration to the server, if
// it runs.
func (p *Provider) ConfigureServer() error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	err := p.server.Configure(ctx)
	if isAbsent(err) {
		return nil
	}
	return fold("configure the server of", "", err)
}

// RetireServer stops the server if it has no sessions. A session whose agent has exited counts as a session.
// RetireServer does nothing if the server has sessions or does not run.
func (p *Provider) RetireServer() error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	ended, err := p.server.Retire(ctx)
	if err != nil || !ended {
		return fold("stop the server of", "", err)
	}
	p.panes.stopListening()
	_ = os.Remove(p.sessions()) // fails if it contains the record of a lost session
	return nil
}

// TeardownServer implements runtime.ServerLifecycleProvider. It refuses to stop a server with running sessions. It
// removes all files except the directory itself and the records of lost sessions.
func (p *Provider) TeardownServer() error {
	const op = "tear down the server of"
	ctx, cancel := driver.CallContext()
	defer cancel()
	list, _, err := p.server.List(ctx)
	if err != nil && !isAbsent(err) {
		return fold(op, "", err)
	}
	for _, s := range list {
		if !s.Dead {
			return &runtime.Error{Op: op, Session: s.Name, Err: errors.New("the session still runs: stop it first")}
		}
	}
	if isAbsent(err) {
		err = p.server.RemoveFiles(ctx)
	} else if err = p.server.Shutdown(ctx); err == nil {
		err = p.server.RemoveFiles(ctx)
	}
	if err == nil {
		p.panes.stopListening()
		_ = os.Remove(p.sessions()) // fails if it contains the record of a lost session
	}
	return fold(op, "", err)
}
