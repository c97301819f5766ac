package workerapi

import (
	"context"

	"gascity/internal/domain/workerrun"
	"gascity/worker"
)

// City is what the worker API serves. Its methods may be called concurrently.
// Errors match the sentinels of package worker; one without becomes an internal
// problem, whose text does not leave the city.
type City interface {
	Tokens
	Reports
	Orders
	Guard
	Streams
}

// Tokens identify callers.
type Tokens interface {
	// Authenticate returns for whom a token speaks. Unknown and dead tokens are
	// [worker.ErrUnauthorized]; that of an instance whose place another has taken
	// is [worker.ErrFenced]. It takes the same time for every wrong token.
	Authenticate(token string) (workerrun.Caller, error)
}

// Reports take the reports of the worker of a run.
type Reports interface {
	Lifecycle(ctx context.Context, id string, r worker.Lifecycle) (worker.LifecycleAnswer, error)
	Telemetry(ctx context.Context, id string, t worker.Telemetry) (worker.TelemetryAnswer, error)
	Interaction(ctx context.Context, id string, q worker.Interaction) (worker.InteractionAnswer, error)
	ReportHealth(ctx context.Context, id string, h worker.Health) error
	Ack(ctx context.Context, id string, a worker.Ack) error
	// ClaimContext returns the sections that the agent is to receive and that come
	// by no other way.
	ClaimContext(ctx context.Context, id string, c worker.ContextClaim) (worker.Context, error)
}

// Orders are what others have for a run. An unknown run is [worker.ErrNotFound].
type Orders interface {
	// Prompt answers when the prompt is durable, or has come as far as wait says.
	Prompt(ctx context.Context, p worker.Prompt, wait worker.Progress) (worker.PromptAnswer, error)
	Context(ctx context.Context, c worker.Context) (worker.ContextAnswer, error)
	Identity(ctx context.Context, id worker.Identity) (worker.IdentityAnswer, error)
	// Interrupt answers when the end of the turn is confirmed, or ctx ends.
	Interrupt(ctx context.Context, i worker.Interrupt) (worker.InterruptAnswer, error)
	// Health asks the worker if one is connected, for a short time, and returns what
	// the city knows otherwise.
	Health(ctx context.Context, id string) (worker.Health, error)
}

// Guard decides about tools. An error is a denial.
type Guard interface {
	Authorize(ctx context.Context, id string, c worker.Call) (worker.Decision, error)
}

// Streams are what runs are sent.
type Streams interface {
	// Stream returns what the run has been sent after the given number and has not
	// acknowledged, then each new message. The channel is closed when ctx ends, when
	// the run has ended (after an End), when another stream of the run takes its place (the
	// server asks for none while one is open),
	// and when its reader is too slow (after a Lagged): the city never waits for one. It
	// holds at least one message that is ready, if there is one.
	Stream(ctx context.Context, id string, after uint64) (<-chan workerrun.Item, error)
	// Events returns what was recorded after the cursor, at most limit events or, if that
	// is 0 or too many, a page; of all runs if run is empty.
	Events(ctx context.Context, id string, after uint64, limit int) ([]worker.Event, error)
}
