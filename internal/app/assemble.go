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
	"gascity/internal/service/prompts"
	"gascity/internal/service/questions"
	"gascity/internal/service/waits"
	"gascity/internal/service/workers/compaction"
	"gascity/internal/store"
)

// openStore opens what the city must not forget.
func (k *controllerProcess) openStore(ctx context.Context) (*store.DB, error) {
	return store.Open(ctx, store.Options{
		Path: filepath.Join(k.root, citydir.StateFolder, citydir.StoreFile), ExpectDatabase: citydir.HasRunBefore(k.root), Now: k.daemon.opts.Now, Logger: k.logger, Secrets: k.secrets,
		OnFault: func(error) {
			if c := k.controller.Load(); c != nil {
				c.StoreChanged()
			}
		},
	})
}

// notices report to people, for as long as the controller runs, what was lost
// before.
func notices(db *store.DB) []string {
	damage := db.Damage()
	if damage == nil {
		return nil
	}
	what := "the city's database was missing"
	if damage.File != "" {
		what = "the city's database was damaged and is kept as " + damage.File
	}
	return []string{what + ": suspended, sleeping and quarantined agents run again, and queued prompts are lost; running agents keep running. " +
		"Suspend again who is not to run; the notice ends with the controller"}
}

// assemble makes the controller and the engines over one store.
func (k *controllerProcess) assemble(ctx context.Context, db *store.DB, opts cli.ControllerOptions) (*controller.Controller, *cityservice.Engines, error) {
	d, e := k.daemon, &cityservice.Engines{Desired: k.desired}
	e.Events = event.Limit(db, event.Rate{}, d.opts.Now)
	if err := k.openExchange(e, e.Events); err != nil {
		return nil, nil, err
	}
	k.openBroker(e, e.Events)
	c, err := controller.Open(ctx, controller.Options{
		Root: k.root, Version: opts.Version, PID: os.Getpid(), Retry: opts.Retry,
		Load: k.load, Provider: k.open, Providers: d.Providers, Secrets: k.values(),
		FindProgram: d.config.FindProgram, SearchPath: d.config.Environ.Get("PATH"),
		Events: e.Events, Records: db, Logger: k.logger,
		Changed: e.SessionChanged, Queued: e.QueuedFor, Count: d.countPool, StoreFault: db.Fault, Notices: notices(db), EndStrays: k.endStrays,
		Now: d.opts.Now, NewToken: instanceToken, Jitter: jitter,
	})
	if err != nil {
		return nil, nil, err
	}
	k.controller.Store(c)
	k.openSpending(e, c, db)
	environ := d.config.Environ.Base(agentcli.Builtin())
	e.Prompts = prompts.New(prompts.Options{
		Store: db, City: c, Events: e.Events, Logger: k.logger, Now: d.opts.Now, NewID: receiptID, PromptHold: e.PromptHold, Opens: e.Opens, Typed: e.Typed, Progress: k.progress,
		Changed: func(session string) { e.Questions.SessionChanged(session) }, Texts: cityservice.TextFiles{Store: k.texts, Engines: e}, Probed: c.Probed,
	})
	e.Questions = questions.New(questions.Options{
		City: cityservice.QuestionCity{Controller: c, Engines: e}, Store: db, Events: e.Events, Logger: k.logger, Now: d.opts.Now, Random: rand.Text,
		Policy: k.policy, Sense: c.Sense,
		Notify: func(ctx context.Context, p client.Pending) error {
			return questions.Command{Line: k.notifier(), City: k.root, Environ: environ}.Notify(ctx, redact.Value(k.secrets, p))
		},
	})
	e.Waits = waits.New(waits.Options{
		City: c, Prompts: e.Prompts, Questions: e.Questions, Store: db, Events: e.Events,
		Shell: waits.ShellIn(k.root, environ), Logger: k.logger, Now: d.opts.Now, Random: rand.Text,
	})
	return c, e, nil
}

// instanceToken returns a new secret token for an instance.
func instanceToken() string { return agent.InstanceTokenPrefix + rand.Text() }

// receiptID returns a name for a prompt that a person can type: 60 random bits.
func receiptID() string { return "p-" + strings.ToLower(rand.Text()[:12]) }

var (
	_ controlapi.Prompts    = (*prompts.Engine)(nil)
	_ controlapi.Questions  = (*questions.Service)(nil)
	_ controlapi.Conditions = (*waits.Service)(nil)
)

// progress returns how long a delivery may go without progress, by the configuration in force.
func (k *controllerProcess) progress() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last.City == nil {
		return 0
	}
	return k.last.City.Delivery.ProgressTimeout
}

// policy returns what the configuration in force says about an agent's questions.
func (k *controllerProcess) policy(agent string) questions.Policy {
	p := k.desired(agent).Pending
	return questions.Policy{Mode: p.Policy, After: p.After, Answer: p.Answer}
}

// desired returns what the configuration in force says of an agent; zero: nothing.
func (k *controllerProcess) desired(agent string) plan.Session {
	k.mu.Lock()
	defer k.mu.Unlock()
	return *cmp.Or(k.last.Desired.SessionOf(agent), &plan.Session{})
}

// pressure returns what the configuration in force says about an agent's context.
func (k *controllerProcess) pressure(agent string) compaction.Rules {
	return compaction.Rules(k.desired(agent).Context)
}

// restartWithHandoff has an agent restarted in a new conversation.
func (k *controllerProcess) restartWithHandoff(ctx context.Context, name, instance string) error {
	c := k.controller.Load()
	if c == nil {
		return errNoCity
	}
	_, err := c.RequestRestart(ctx, name, client.LifecycleRequest{Instance: instance, HandOver: true, Reason: "its context is full"})
	return err
}

// notifier returns the command of the configuration in force that notifies people of
// questions.
func (k *controllerProcess) notifier() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last.City == nil {
		return ""
	}
	return k.last.City.Daemon.OnPending
}

// checkLimit bounds the check of a pool.
const checkLimit = 3 * time.Minute

// countPool runs the check of a pool.
func (d *Daemon) countPool(ctx context.Context, pool *plan.Pool) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	env := d.config.Environ.Base(agentcli.Builtin())
	for name, value := range pool.Env {
		env = append(env, name+"="+value)
	}
	out, err := proc.Shell{Line: pool.Check, Dir: pool.Dir, Env: env}.Output(ctx)
	if err != nil {
		return 0, fmt.Errorf("the check of the pool %s failed: %w", pool.Agent, err)
	}
	return plan.ParseCount(out)
}
