package workerapi

import (
	"context"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// City is what the worker API serves. Its methods may be called concurrently. Errors match the
// sentinels of package worker. Any other error becomes an internal problem, whose text is not sent
// to the caller.
type City interface {
	Tokens
	Reports
	Orders
	Guard
	Streams
}

// Tokens identifies callers.
type Tokens interface {
	// Authenticate returns the caller that a token identifies. It returns [worker.ErrUnauthorized]
	// for an unknown or expired token, and [worker.ErrFenced] for the token of an instance that has
	// been replaced. It takes the same time for every wrong token.
	Authenticate(token string) (session.RunCaller, error)
}

// Reports accepts the reports of the worker of a run.
type Reports interface {
	Lifecycle(ctx context.Context, id string, r worker.Lifecycle) (worker.LifecycleAnswer, error)
	Telemetry(ctx context.Context, id string, t worker.Telemetry) (worker.TelemetryAnswer, error)
	Interaction(ctx context.Context, id string, q worker.Interaction) (worker.InteractionAnswer, error)
	ReportHealth(ctx context.Context, id string, h worker.Health) error
	Ack(ctx context.Context, id string, a worker.Ack) error
	// ClaimContext returns the context sections that the agent is to receive from a hook. They are
	// not sent in any other way.
	ClaimContext(ctx context.Context, id string, c worker.ContextClaim) (worker.Context, error)
}

// Orders are the requests to a run. An unknown run is [worker.ErrNotFound].
type Orders interface {
	// Prompt returns when the prompt is saved, or when it has reached the state wait.
	Prompt(ctx context.Context, p worker.Prompt, wait worker.Progress) (worker.PromptAnswer, error)
	Context(ctx context.Context, c worker.Context) (worker.ContextAnswer, error)
	Identity(ctx context.Context, id worker.Identity) (worker.IdentityAnswer, error)
	// Interrupt returns when the end of the turn is confirmed or ctx ends.
	Interrupt(ctx context.Context, i worker.Interrupt) (worker.InterruptAnswer, error)
	// Health asks a connected worker, for a short time. Otherwise it returns what the city knows.
	Health(ctx context.Context, id string) (worker.Health, error)
}

// Guard decides about tool calls. An error is a denial.
type Guard interface {
	Authorize(ctx context.Context, id string, c worker.Call) (worker.Decision, error)
}

// Streams are the messages to runs, and the recorded events.
type Streams interface {
	// Stream returns the messages after the given number that the run has not acknowledged, and
	// then each new message. The channel is closed when ctx ends, when the run has ended (after an
	// item with End), when another stream of the run replaces it, and when its reader is too slow
	// (after an item with Lagged). The city never waits for a reader. The channel holds at least
	// one message that is ready, if there is one. The server opens only one stream of a run at a
	// time.
	Stream(ctx context.Context, id string, after uint64) (<-chan session.StreamItem, error)
	// Events returns the events after the cursor: at most limit events, or one page if limit is 0
	// or too large. An empty id means all runs.
	Events(ctx context.Context, id string, after uint64, limit int) ([]worker.Event, error)
}
