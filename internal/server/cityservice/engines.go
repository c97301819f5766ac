package cityservice

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/service/budgets"
	"gascity/internal/service/credentials"
	"gascity/internal/service/prompts"
	"gascity/internal/service/questions"
	"gascity/internal/service/waits"
	"gascity/internal/service/workers"
)

// Engines are the engines of a city, which work on sessions beside the controller. An engine
// observes a session whenever the controller reports that it has changed.
type Engines struct {
	Prompts     *prompts.Engine
	Questions   *questions.Service
	Waits       *waits.Service
	Workers     *workers.Engine
	Budgets     *budgets.Engine
	Credentials *credentials.Broker
	Events      *event.Limited
	// Desired returns the session of an agent by the configuration in force; zero if there is none.
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

// Run lets the engines work until ctx ends or one of them fails.
func (e *Engines) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.Prompts.Run(ctx) })
	group.Go(func() error { return e.Questions.Run(ctx) })
	group.Go(func() error { return e.Waits.Run(ctx) })
	group.Go(func() error { return e.Workers.Run(ctx) })
	group.Go(func() error { return e.Budgets.Run(ctx) })
	group.Go(func() error { return e.Credentials.Run(ctx) })
	group.Go(func() error { return e.Events.Run(ctx) })
	return group.Wait()
}

// QueuedFor counts the prompts that are a reason to run a session: what is held by a
// budget is none.
func (e *Engines) QueuedFor(session string) (int, time.Time) {
	if e.Budgets != nil && e.Budgets.IsHeld(session) {
		return 0, time.Time{}
	}
	return e.Prompts.QueuedFor(session)
}
