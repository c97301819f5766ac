package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/agent"
	"gascity/internal/agentcli"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/controller"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/proc"
	"gascity/internal/redact"
	"gascity/internal/server/cityservice"
	"gascity/internal/server/controlapi"
	"gascity/internal/service/engine"
	"gascity/internal/service/prompts"
	"gascity/internal/service/questions"
	"gascity/internal/service/waits"
	"gascity/internal/store"
)

// storePath returns the path of the database of the city in root.
func storePath(root string) string {
	return filepath.Join(root, citydir.StateFolder, citydir.StoreFile)
}

// storedEvents returns the last events of a city from its database, at most limit of them. The
// controller need not run.
func storedEvents(ctx context.Context, root string, limit int) ([]client.Event, error) {
	return store.LatestEvents(ctx, storePath(root), limit)
}

// openStore opens the city's database. The notices are messages about lost data that the status
// shows while the controller runs.
func (k *controllerProcess) openStore(ctx context.Context) (_ *store.DB, notices []string, _ error) {
	db, err := store.Open(ctx, store.Options{
		Path: storePath(k.root), ExpectDatabase: citydir.HasRunBefore(k.root), Now: k.daemon.opts.Now, Logger: k.logger, Secrets: k.secrets,
		OnFault: func(error) {
			if c := k.controller.Load(); c != nil {
				c.StoreChanged()
			}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	damage := db.Damage()
	if damage == nil {
		return db, nil, nil
	}
	what := "the city's database was missing"
	if damage.File != "" {
		what = "the city's database was damaged and is kept as " + damage.File
	}
	return db, []string{what + ": suspended, sleeping and quarantined agents run again, and queued prompts are lost; running agents keep running. " +
		"Suspend again each agent that must not run; this notice goes when the controller stops"}, nil
}

// assemble creates the controller and all services of the city, which share its store. It starts
// nothing.
func (k *controllerProcess) assemble(ctx context.Context, opts cli.ControllerOptions) (*controller.Controller, *cityservice.Engines, error) {
	d, db, e := k.daemon, k.store, &cityservice.Engines{Desired: k.desired}
	e.Events = event.Limit(db, event.Rate{}, d.opts.Now)
	k.openBroker(e)
	c, err := controller.Open(ctx, controller.Options{
		Root: k.root, Version: opts.Version, PID: os.Getpid(), Retry: opts.Retry,
		Load: k.load, Provider: k.open, Providers: d.Providers, Secrets: k.values(),
		FindProgram: d.FindProgram, SearchPath: d.Environ.Get("PATH"),
		Events: e.Events, Records: db, Logger: k.logger,
		Changed: e.SessionChanged, Queued: e.QueuedFor, Count: d.countPool, StoreFault: db.Fault, Notices: k.notices, EndStrays: k.endStrays,
		Now: d.opts.Now, NewToken: instanceToken, Jitter: jitter,
	})
	if err != nil {
		return nil, nil, err
	}
	k.controller.Store(c)
	k.openSpending(e, c)
	environ := d.Environ.Base(agentcli.Builtin())
	e.Prompts = prompts.New(engine.Required(prompts.Options{
		Store: db, City: c, Events: e.Events, Logger: k.logger, Now: d.opts.Now, NewID: receiptID, PromptHold: e.PromptHold, Opens: e.Opens, Typed: e.Typed,
		Progress: func() time.Duration { return k.section().Delivery.ProgressTimeout },
		Changed:  func(session string) { e.Questions.SessionChanged(session) }, Texts: cityservice.TextFiles{FileStore: k.texts, Engines: e}, Probed: c.Probed,
	}))
	if err := k.openWorkers(e, c); err != nil {
		return nil, nil, err
	}
	e.Questions = questions.New(engine.Required(questions.Options{
		City: cityservice.QuestionCity{Controller: c, Engines: e}, Store: db, Events: e.Events, Logger: k.logger, Now: d.opts.Now, Random: rand.Text,
		Policy: k.policy, Sense: c.Sense,
		Notify: func(ctx context.Context, p client.Pending) error {
			return questions.Command{Line: k.section().Daemon.OnPending, City: k.root, Environ: environ}.Notify(ctx, redact.Value(k.secrets, p))
		},
	}))
	e.Waits = waits.New(engine.Required(waits.Options{
		City: c, Prompts: e.Prompts, Questions: e.Questions, Store: db, Events: e.Events,
		Shell: waits.ShellIn(k.root, environ), Logger: k.logger, Now: d.opts.Now, Random: rand.Text,
	}))
	k.openNotify(e, c)
	k.engines = e
	return c, e, nil
}

// instanceToken returns a new secret token for an instance.
func instanceToken() string { return agent.InstanceTokenPrefix + rand.Text() }

// receiptID returns a new receipt ID that a person can type: 60 random bits.
func receiptID() string { return "p-" + strings.ToLower(rand.Text()[:12]) }

var (
	_ controlapi.Prompts    = (*prompts.Engine)(nil)
	_ controlapi.Conditions = (*waits.Service)(nil)
)

// policy returns the policy for an agent's questions in the current configuration.
func (k *controllerProcess) policy(agent string) questions.Policy {
	p := k.desired(agent).Pending
	return questions.Policy{Mode: p.Policy, After: p.After, Answer: p.Answer}
}

// desired returns the resolved configuration of an agent; the zero value if the agent is not
// configured.
func (k *controllerProcess) desired(agent string) plan.Session {
	now := k.currentConfig()
	return *cmp.Or(now.Desired.SessionOf(agent), &plan.Session{})
}

// restartWithHandoff requests a restart of an instance in a new conversation, because its context
// is full. The new conversation gets a note about the old one.
func (k *controllerProcess) restartWithHandoff(ctx context.Context, name, instance string) error {
	_, err := k.controller.Load().RequestRestart(ctx, name, client.LifecycleRequest{Instance: instance, HandOver: true, Reason: "its context is full"})
	return err
}

// checkLimit is the maximum duration of the check of a pool.
const checkLimit = 3 * time.Minute

// countPool runs the check command of a pool and returns the number that it prints: how many
// members the pool needs.
func (d *Daemon) countPool(ctx context.Context, pool *plan.Pool) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	env := d.Environ.Base(agentcli.Builtin())
	for name, value := range pool.Env {
		env = append(env, name+"="+value)
	}
	out, err := proc.Shell{Line: pool.Check, Dir: pool.Dir, Env: env}.Output(ctx)
	if err != nil {
		return 0, fmt.Errorf("the check of the pool %s failed: %w", pool.Agent, err)
	}
	return plan.ParseCount(out)
}
