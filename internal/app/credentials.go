package app

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"gascity/internal/agentcli"
	"gascity/internal/citydir"
	"gascity/internal/config"
	"gascity/internal/server/cityservice"
	"gascity/internal/service/credentials"
	"gascity/internal/service/engine"
	"gascity/worker"
)

// openBroker creates the broker of the city's credentials.
func (k *controllerProcess) openBroker(e *cityservice.Engines) {
	d := k.daemon
	reportState := credentials.NewStateReporter(e.Events, k.logger)
	k.broker = credentials.New(engine.Required(credentials.Options{
		Environment: credentials.Environment{Lookup: d.Environ.Lookup, Environ: d.Environ.Base(agentcli.Builtin()), Dir: k.root, Now: d.opts.Now, Locks: credentials.Locks{Dir: d.lockFolder()}},
		Push:        func(session string, c worker.Credentials) error { return e.Workers.Push(session, c) }, Hide: k.secrets.Hide, Logger: k.logger,
		OnState: func(ctx context.Context, s credentials.State) {
			reportState(ctx, s)
			for _, name := range k.broker.Holders(s.Name) { // their prompts wait or continue
				e.Prompts.SessionChanged(name)
			}
		},
	}))
	e.Credentials = k.broker
}

// lockFolder returns the directory for locks that all cities of this user share, because they may
// share a login.
func (d *Daemon) lockFolder() string {
	if base := d.Environ.Get("XDG_RUNTIME_DIR"); filepath.IsAbs(base) {
		return filepath.Join(base, "gc", "credentials")
	}
	return filepath.Join(citydir.PublicTempDir, "gc-"+strconv.Itoa(os.Getuid()), "credentials")
}

// values returns where the credentials come from that agents get at their starts.
func (k *controllerProcess) values() config.SecretSource {
	source := k.daemon.Secrets(k.root, k.secrets.Hide)
	source.Credential = func(ctx context.Context, name string) (string, error) {
		v, err := k.broker.Get(ctx, name)
		return string(v.Secret), err
	}
	return source
}
