package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"gascity/client"
	"gascity/internal/agent"
	"gascity/internal/citydir"
	"gascity/internal/controller"
	"gascity/internal/domain/plan"
	"gascity/internal/server/cityservice"
	"gascity/internal/server/httpkit"
	"gascity/internal/server/workerapi"
	"gascity/internal/service/engine"
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
func (k *controllerProcess) openWorkers(e *cityservice.Engines, c *controller.Controller) error {
	owner := agent.OwnerTokenPrefix + rand.Text()
	if err := os.WriteFile(filepath.Join(k.root, citydir.StateFolder, ownerFile), []byte(owner+"\n"), 0o600); err != nil {
		return fmt.Errorf("cannot write the owner's token for the worker API: %w", err)
	}
	e.Workers = workers.New(engine.Required(workers.Options{
		URL: k.port.URL(), Hide: k.secrets.Hide, Announce: k.port.Announce, Retire: k.retire,
		Joined: e.Credentials.SessionChanged, Expiring: e.Credentials.Expiring,
		City: c, Prompts: e.Prompts, Events: e.Events, Owner: owner, Socket: workerPath(k.root),
		Logger: k.logger, Now: k.daemon.opts.Now, Judge: k.judge.Evaluate, Regime: k.judge.Regime, Readers: k.judge.Readers, Enforce: k.enforce,
		Ready: e.Prompts.SessionChanged, AskTimeout: k.judge.AskTimeout, Spend: e.Budgets.Spend,
		Pressure: func(agent string) plan.ContextPolicy { return k.desired(agent).Context }, Handoff: k.restartWithHandoff,
		Sections: func(agent string, mode worker.ContextMode) []worker.Section {
			return k.desired(agent).Primer.Sections(mode)
		},
		Native: func(agent string) bool { return k.desired(agent).ByWorker },
		Hookless: func(agent string) bool {
			s := k.desired(agent)
			return s.Agent != "" && s.Hooks == "" && !s.Protocol && !s.ByWorker
		},
		Carried: func(agent string) (argued, typed []string) {
			s := k.desired(agent)
			return s.Primer.FullTypes(s.Config.PromptSuffix, s.Config.Nudge)
		},
	}))
	k.workers = e.Workers
	return nil
}

// serveWorkers serves the worker API until ctx ends, on l and on the TCP port if there is one.
func (k *controllerProcess) serveWorkers(ctx context.Context, l net.Listener) error {
	server := workerapi.NewServer(cityservice.TimedWorkers{Engine: k.workers, Decisions: k.judged}, workerapi.Options{Log: k.logger, Secrets: k.secrets})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Run(ctx, l) })
	if k.port != nil {
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
		return nil, workerapi.RemovePortFiles(dir)
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
