package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"gascity/client"
	"gascity/internal/agent"
	"gascity/internal/citydir"
	"gascity/internal/domain/event"
	receipt "gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/server/cityservice"
	"gascity/internal/server/httpkit"
	"gascity/internal/server/workerapi"
	"gascity/internal/service/workers"
	"gascity/worker"
)

const (
	// workerSocket is in the directory of the control socket, ownerFile in the state directory.
	workerSocket = "worker.sock"
	ownerFile    = "worker.token"
)

// workerPath returns the path of the socket of a city's worker API.
func workerPath(root string) string {
	return filepath.Join(filepath.Dir(client.SocketPath(root)), workerSocket)
}

// openWorkers creates the service of worker sessions. The owner's token permits control of all
// workers. Only this user can read the token, and each controller writes a new one.
func (k *controllerProcess) openWorkers(e *cityservice.Engines, events event.Log) error {
	owner := agent.OwnerTokenPrefix + rand.Text()
	if err := os.WriteFile(filepath.Join(k.root, citydir.StateFolder, ownerFile), []byte(owner+"\n"), 0o600); err != nil {
		return fmt.Errorf("cannot write the owner's token for the worker API: %w", err)
	}
	e.Workers = workers.New(workers.Options{
		URL: k.port.URL(), Hide: k.secrets.Hide, Announce: k.port.Announce, Retire: k.retire,
		Joined: func(name string) { e.Credentials.SessionChanged(name) }, Expiring: func(name string, until time.Time) { e.Credentials.Expiring(name, until) },
		City: deferredCity{k}, Prompts: deferredPrompts{e}, Events: events, Owner: owner, Socket: workerPath(k.root),
		Logger: k.logger, Now: k.daemon.opts.Now, Judge: k.judge.Evaluate, Regime: k.judge.Regime, Readers: k.judge.Readers, Enforce: k.enforce, Ready: func(session string) {
			if e.Prompts != nil {
				e.Prompts.SessionChanged(session)
			}
		}, Asking: k.judge.AskTimeout, Spend: func(ctx context.Context, entries []usage.Entry) (int, error) { return e.Budgets.Spend(ctx, entries) }, Pressure: k.pressure, Handoff: k.restartWithHandoff,
		Sections: func(agent string, mode worker.ContextMode) []worker.Section {
			return k.desired(agent).Primer.Sections(mode)
		},
		Native: func(agent string) bool { return k.desired(agent).ByWorker },
		Carried: func(agent string) (argued, typed []string) {
			s := k.desired(agent)
			return s.Primer.FullTypes(s.Config.PromptSuffix, s.Config.Nudge)
		},
	})
	k.workers = e.Workers
	return nil
}

// serveWorkers serves the worker API until ctx ends, on l and on the TCP port if there is one.
func (k *controllerProcess) serveWorkers(ctx context.Context, l net.Listener) error {
	server := workerapi.NewServer(cityservice.TimedWorkers{Engine: k.workers, Decisions: k.judged}, workerapi.Options{Log: k.logger, Secrets: k.secrets})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Run(ctx, l) })
	if k.port.Open() {
		group.Go(func() error { return server.Run(ctx, k.port.Listener()) })
	}
	return group.Wait()
}

// portFile, in the state directory, stores the TCP port of the worker API, because running agents
// know its number.
const portFile = "worker.port"

// openPort opens the TCP port of the worker API if the configuration enables it.
func (k *controllerProcess) openPort(ctx context.Context) (*workerapi.Port, error) {
	dir, kept := filepath.Dir(workerPath(k.root)), filepath.Join(k.root, citydir.StateFolder, portFile)
	if !k.section().Daemon.WorkerHTTP {
		return nil, workerapi.RenewPorts(dir, nil)
	}
	return workerapi.OpenPort(ctx, dir, kept)
}

// listenForWorkers opens the socket of the worker API.
func (k *controllerProcess) listenForWorkers(ctx context.Context) (net.Listener, error) {
	l, err := httpkit.Listen(ctx, workerPath(k.root))
	if err != nil {
		return nil, fmt.Errorf("cannot serve the worker API: %w", err)
	}
	return l, nil
}

// retire deletes the files of a session whose run has ended.
func (k *controllerProcess) retire(session string) {
	if err := k.port.RemoveFile(session); err != nil {
		k.logger.Warn("cannot remove the port file of a session", "session", session, "error", err)
	}
}

// deferredCity gives access to the controller to components that are created before it.
type deferredCity struct{ process *controllerProcess }

var errNoCity = errors.New("the controller is still starting")

// Snapshot returns the controller's snapshot of a session, or an error while the controller is
// being created. It implements workers.City.
func (c deferredCity) Snapshot(name string) (session.Snapshot, error) {
	if it := c.process.controller.Load(); it != nil {
		return it.Snapshot(name)
	}
	return session.Snapshot{}, errNoCity
}

// Sense requests a new reading of a session. While the controller is being created it does nothing.
// It implements workers.City.
func (c deferredCity) Sense(name string) {
	if it := c.process.controller.Load(); it != nil {
		it.Sense(name)
	}
}

// HasSynced reports whether the controller knows every session of the city. It implements
// workers.City.
func (c deferredCity) HasSynced() bool {
	it := c.process.controller.Load()
	return it != nil && it.HasSynced()
}

// deferredPrompts gives access to the prompt queue to components that are created before it.
type deferredPrompts struct{ engines *cityservice.Engines }

// Nudge accepts a prompt for an agent. It implements workers.Prompts.
func (p deferredPrompts) Nudge(ctx context.Context, target string, req client.NudgeRequest) (client.Receipt, error) {
	return p.engines.Prompts.Nudge(ctx, target, req)
}

// Worked records that a turn has worked on the prompt of a receipt. It implements workers.Prompts.
func (p deferredPrompts) Worked(ctx context.Context, id, instance string) error {
	return p.engines.Prompts.Worked(ctx, id, instance)
}

// RecordHookReport records a hook's report about the beginning or end of a turn. It implements
// workers.Prompts.
func (p deferredPrompts) RecordHookReport(ctx context.Context, w receipt.HookReport) error {
	return p.engines.Prompts.RecordHookReport(ctx, w)
}
