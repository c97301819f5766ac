package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/controller"
	"gascity/internal/domain/plan"
	"gascity/internal/fsutil"
	"gascity/internal/guard"
	"gascity/internal/redact"
	"gascity/internal/server/cityservice"
	"gascity/internal/server/controlapi"
	"gascity/internal/server/httpkit"
	"gascity/internal/server/workerapi"
	"gascity/internal/service/credentials"
	"gascity/internal/service/notify"
	"gascity/internal/service/notify/answers"
	"gascity/internal/service/prompts"
	"gascity/internal/service/terminals"
	"gascity/internal/service/workers"
	"gascity/internal/store"
	"gascity/internal/telemetry"
	"gascity/internal/web"
	"gascity/provider/all"
	"gascity/runtime"
)

// RunController runs the city's controller until ctx ends or the controller receives a request to
// exit. After the end of ctx the sessions keep running.
func (d *Daemon) RunController(ctx context.Context, root string, opts cli.ControllerOptions) error {
	run := func(ctx context.Context) error { return d.control(ctx, root, opts) }
	if opts.Lease == "" {
		return run(ctx)
	}
	return d.underLease(ctx, root, opts.Lease, run)
}

// control runs the controller in this process until ctx ends. If there is a leader election, this
// process has won it.
func (d *Daemon) control(ctx context.Context, root string, opts cli.ControllerOptions) (err error) {
	release, err := citydir.Lock(ctx, root, os.Getpid())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	file, err := fsutil.OpenLog(filepath.Join(root, citydir.StateFolder, citydir.LogFolder, citydir.LogFile), 8<<20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	secrets := &redact.Redactor{}
	secrets.HideEnvironment(d.Environ)
	k := &controllerProcess{daemon: d, root: root, logger: redact.NewLogger(redact.Writer{Redactor: secrets, To: file}), secrets: secrets, judged: cityservice.NewDecisions()}
	defer k.close()
	if k.store, k.notices, err = k.openStore(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.store.Close()) }()
	calls, err := k.openGuard()
	if err != nil {
		return err
	}
	defer func() {
		k.judge.Close()
		err = errors.Join(err, calls.Close())
	}()
	return k.run(ctx, opts)
}

// controllerProcess is one running controller with its dependencies.
type controllerProcess struct {
	daemon  *Daemon
	root    string
	logger  *slog.Logger
	secrets *redact.Redactor

	controller atomic.Pointer[controller.Controller]
	store      *store.DB
	notices    []string             // about lost data, see openStore
	port       *workerapi.Port      // TCP port of the worker API; nil: none
	workers    *workers.Engine      // set by assemble
	engines    *cityservice.Engines // set by assemble
	broker     *credentials.Broker  // set by assemble
	texts      prompts.FileStore    // texts of prompts that agents read from files
	judged     *telemetry.Histogram
	judge      *guard.Evaluator
	web        *web.Server
	answers    *answers.Service // answers by buttons of notifications; set by assemble, before web serves
	pushKey    *notify.PushKey
	openViewer func(ctx context.Context, target, name string) (*terminals.Viewer, error) // set before web serves

	mu        sync.Mutex
	providers []runtime.Provider
	last      cityconfig.Loaded // the last valid configuration
}

// run opens the sockets and all services, and serves until the controller exits or one
// of them fails.
func (k *controllerProcess) run(ctx context.Context, opts cli.ControllerOptions) (err error) {
	d := k.daemon
	sockets, err := citydir.RuntimeDir(k.root, d.SocketBases()...)
	if err != nil {
		return err
	}
	k.texts = prompts.FileStore{Dir: filepath.Join(sockets, textsFolder)}
	if k.port, err = k.openPort(ctx); err != nil {
		return err
	}
	defer k.port.Close()
	k.pushKey = notify.NewPushKey(filepath.Join(k.root, citydir.StateFolder, pushKeyFile))
	k.web = k.openWeb(opts.Version)
	defer k.web.Close()
	began := time.Now()
	c, engines, err := k.assemble(ctx, opts)
	if err != nil {
		return err
	}
	listener, err := httpkit.Listen(ctx, client.SocketPath(k.root))
	if err != nil {
		return err
	}
	ownership, err := citydir.NewOwnershipWatcher(k.root, listener, d.watchEvery)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	workers, err := k.listenForWorkers(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var group errgroup.Group
	essential := func(run func() error) { // its end ends all others
		group.Go(func() error {
			defer cancel()
			return run()
		})
	}
	essential(func() error {
		defer end() // close the socket only after the watcher has reported whether this process still owns it
		return ownership.Run(ctx)
	})
	screens := terminals.New(terminals.Options{Open: c.OpenTerminal, Mask: k.secrets.Text, Logger: k.logger})
	defer screens.Close()
	transcripts := cityservice.NewTranscripts(k.root, d.Environ.Base(agentcli.Builtin()), k.secrets.Text)
	defer transcripts.Close()
	facade := cityservice.New(cityservice.Options{
		Root: k.root, Controller: c, Engines: engines, Decisions: k.judged, Preview: k.preview, Web: k.web, Terminals: screens,
		Transcripts: transcripts, Changes: k.newChanges(sockets), IsHere: all.IsHere,
		Editor: cityconfig.NewEditor(d.Loader, k.root, func(text string) bool { return k.secrets.Text(text) != text }),
		Guard:  k.judge, GuardLog: guardLog(k.root), Conceal: k.secrets.Text,
		Doctor: func(ctx context.Context, report func(client.Finding)) error { return d.Doctor(ctx, k.root, report) },
		Bundle: func(ctx context.Context, w io.Writer) error { _, err := d.Bundle(ctx, k.root, w); return err },
	})
	server := controlapi.NewServer(facade, controlapi.Options{Version: opts.Version, Log: k.logger, Secrets: k.secrets})
	essential(func() error { return server.Run(serving, listener) })
	k.openViewer = facade.OpenViewer
	k.web.Begin(ctx, server.Mount())
	defer context.AfterFunc(ctx, k.web.Stop)()
	essential(func() error { return k.serveWorkers(ctx, workers) })
	essential(func() error {
		err := c.Run(ctx)
		if err == nil && ctx.Err() == nil {
			citydir.RemoveEmptyRuntimeDir(k.root) // while the API still answers: a caller that waits for the stop may remove the city afterwards
		}
		return err
	})
	essential(func() error { return engines.Run(ctx) })
	group.Go(func() error {
		return cityconfig.Watcher{Root: k.root, Began: began, Loaded: k.currentConfig, Reload: c.Reload, Logger: k.logger}.Run(ctx)
	})
	group.Go(func() error { return k.export(ctx, facade, opts.Version) })
	group.Go(func() error { return k.workers.RotateEvery(ctx, k.section().Daemon.WorkerTokenAge) })
	if opts.Ready != nil {
		opts.Ready()
	}
	if err = group.Wait(); errors.Is(err, citydir.ErrOwnershipLost) {
		k.logger.Error(err.Error())
		return err
	}
	citydir.RemoveEmptyRuntimeDir(k.root)
	return err
}

// load reads the configuration for the controller. The configuration becomes active when the
// controller accepts it, see [controller.Loaded].Accepted. Its secrets are hidden from logs at
// once.
func (k *controllerProcess) load(ctx context.Context) (controller.Loaded, error) {
	r, err := k.daemon.Load(ctx, k.root)
	if err == nil {
		err = cityconfig.CheckNotEmpty(r.City)
	}
	if err != nil {
		return controller.Loaded{}, err
	}
	k.hideWritten(ctx, &r)
	accepted, err := loaded(k.daemon.Loader, &r)
	accepted.Accepted = func() { k.apply(r) }
	return accepted, err
}

// apply passes a configuration that the controller has accepted to all other components.
func (k *controllerProcess) apply(r cityconfig.Loaded) {
	k.mu.Lock()
	k.last = r
	k.mu.Unlock()
	k.judge.SetRules(r.Rules)
	k.broker.Configure(r.City, &r.Desired)
	k.web.Configure(webSettings(r.City))
	if k.engines != nil { // the rules for budgets and for held prompts may have changed
		k.engines.Budgets.SessionChanged("")
		k.engines.Prompts.SessionChanged("")
		k.engines.Notify.Configure(k.notifySettings(r.City))
	}
}

// preview resolves another configuration. It returns the desired sessions and, by name, why runtime
// providers cannot be opened.
func (k *controllerProcess) preview(ctx context.Context, req client.PreviewRequest) (plan.Desired, map[string]string, error) {
	desired, err := k.daemon.Preview(k.root, req)
	if err != nil {
		return plan.Desired{}, nil, err
	}
	return desired, k.daemon.Unavailable(ctx, k.section(), k.root, &desired), nil
}

// textsFolder is the directory with texts of prompts, in the city's runtime directory.
const textsFolder = "prompts"

// currentConfig returns the last valid configuration.
func (k *controllerProcess) currentConfig() cityconfig.Loaded {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// loaded converts a configuration to the form that the controller uses.
func loaded(l *cityconfig.Loader, r *cityconfig.Loaded) (controller.Loaded, error) {
	shown, err := l.Show(r.City)
	if err != nil {
		return controller.Loaded{}, err
	}
	return controller.Loaded{Desired: r.Desired, Config: shown, Warnings: r.Warnings, Settings: r.City.Daemon}, nil
}

// hideWritten hides credentials that are written in the configuration from logs and outputs. A
// credential that the configuration only refers to is hidden when it is read.
func (k *controllerProcess) hideWritten(ctx context.Context, r *cityconfig.Loaded) {
	cityconfig.HideNotify(k.secrets, r.City)
	cityconfig.HideUpstreams(ctx, k.secrets, &r.Desired, config.SecretSource{}, config.SecretLiteral)
}

// jitter returns d extended by a random part of up to a fifth, so that sessions do not act at the
// same time.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration(mathrand.Int64N(int64(d)/5+1)) //nolint:gosec // no secret
}
