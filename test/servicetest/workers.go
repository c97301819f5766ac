package servicetest

import (
	"context"
	"log/slog"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/guard"
	"gascity/internal/service/workers"
	"gascity/worker"
)

// WorkerOptions returns the options of an engine of workers for a city without a guard, context sections, credentials and budgets.
// The caller sets Prompts if its workers get prompts.
func WorkerOptions(city workers.City, events event.Log) workers.Options {
	return workers.Options{
		City: city, Events: events, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Judge:      func(session.Snapshot, worker.Call) guard.Verdict { return guard.Verdict{Action: guard.Allow} },
		Regime:     func() guard.Regime { return guard.Regime{} },
		Readers:    func(session.Snapshot) (tools, except []string) { return nil, nil },
		Ready:      func(string) {},
		Enforce:    func(context.Context, string, string, string, guard.Bypass) error { return nil },
		Spend:      func(_ context.Context, entries []usage.Entry) (int, error) { return len(entries), nil },
		Hide:       func(string) {},
		Announce:   func(string) error { return nil },
		Retire:     func(string) {},
		Joined:     func(string) {},
		Expiring:   func(string, time.Time) {},
		Sections:   func(string, worker.ContextMode) []worker.Section { return nil },
		Carried:    func(string) (argued, typed []string) { return nil, nil },
		Hookless:   func(string) bool { return false },
		Native:     func(string) bool { return false },
		Pressure:   func(string) plan.ContextPolicy { return plan.ContextPolicy{} },
		Handoff:    func(context.Context, string, string) error { return nil },
		AskTimeout: func() time.Duration { return 0 },
	}
}
