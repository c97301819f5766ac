package cityservice

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/service/budgets"
	"gascity/internal/service/credentials"
	"gascity/internal/service/notify"
	"gascity/internal/service/prompts"
	"gascity/internal/service/questions"
	"gascity/internal/service/waits"
	"gascity/internal/service/workers"
)

// Engines are the engines of a city. They work on sessions together with the controller, which
// notifies them of each change of a session.
type Engines struct {
	Prompts     *prompts.Engine
	Questions   *questions.Service
	Waits       *waits.Service
	Workers     *workers.Engine
	Budgets     *budgets.Engine
	Credentials *credentials.Broker
	Notify      *notify.Engine
	Events      *event.Limited
	// Desired returns the session of an agent in the current configuration, or the zero value if
	// there is none.
	Desired func(agent string) plan.Session
}

// SessionChanged notifies every engine that a session has changed. It never blocks.
func (e *Engines) SessionChanged(session string) {
	e.Prompts.SessionChanged(session)
	e.Questions.SessionChanged(session)
	e.Waits.SessionChanged(session)
	e.Workers.SessionChanged(session)
	e.Budgets.SessionChanged(session)
	e.Credentials.SessionChanged(session)
}

// Run runs the engines until ctx ends or one of them fails.
func (e *Engines) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{
		e.Prompts.Run, e.Questions.Run, e.Waits.Run, e.Workers.Run, e.Budgets.Run, e.Credentials.Run, e.Notify.Run, e.Events.Run,
	} {
		group.Go(func() error { return run(ctx) })
	}
	return group.Wait()
}

// QueuedFor returns how many queued prompts require the session to run, and when the newest of them
// was accepted. If a budget holds the session, that is none, because the prompts could not be
// delivered.
func (e *Engines) QueuedFor(session string) (int, time.Time) {
	if e.Budgets != nil && e.Budgets.IsHeld(session) {
		return 0, time.Time{}
	}
	return e.Prompts.QueuedFor(session)
}
