package workerapi

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"gascity/worker"
)

// access is the kind of callers that may use a route.
type access int

const (
	workers   access = iota // the run's own worker
	directors               // the owner of the city, and a worker for its own run
)

const (
	quick  = 10 * time.Second
	slow   = time.Minute
	always = 0 // no limit: a stream, or an answer that waits

	smallBody  = 256 << 10
	promptBody = 8 << 20 // 1 MiB of text, each byte escaped
	eventsBody = 4 << 20
)

// route is one row of the route table.
type route struct {
	method, path string
	who          access
	all          bool          // for the owner a missing run means all runs
	exact        bool          // the answer is for the agent: no secrets are masked
	limit        time.Duration // of the handler; zero is none
	body         int64         // limit of the request body in bytes
	id           string        // OpenAPI operation ID
	summary      string
	serve        binding
}

// routes returns the routes of the worker API.
func routes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: post, path: "/lifecycle", limit: quick, body: smallBody, id: "lifecycle", summary: "Report a transition of the run", serve: body(func(b *worker.Lifecycle) *string { return &b.RunID },
			func(ctx context.Context, c City, id string, b worker.Lifecycle, _ url.Values) (worker.LifecycleAnswer, error) {
				return c.Lifecycle(ctx, id, b)
			})},
		{method: post, path: "/authorize", limit: always, body: eventsBody, id: "authorize", summary: "Ask whether the agent may use a tool with this input", serve: body(func(b *worker.Call) *string { return &b.RunID },
			func(ctx context.Context, c City, id string, b worker.Call, _ url.Values) (worker.Decision, error) {
				return c.Authorize(ctx, id, b)
			})},
		{method: post, path: "/telemetry", limit: quick, body: eventsBody, id: "telemetry", summary: "Report events and usage", serve: body(func(b *worker.Telemetry) *string { return &b.RunID },
			func(ctx context.Context, c City, id string, b worker.Telemetry, _ url.Values) (worker.TelemetryAnswer, error) {
				return c.Telemetry(ctx, id, b)
			})},
		{method: post, path: "/interaction", limit: quick, body: eventsBody, id: "interaction", summary: "Report a question that blocks the agent, or its end", serve: body(func(b *worker.Interaction) *string { return &b.RunID },
			func(ctx context.Context, c City, id string, b worker.Interaction, _ url.Values) (worker.InteractionAnswer, error) {
				return c.Interaction(ctx, id, b)
			})},
		{method: post, path: "/health", limit: quick, body: smallBody, id: "report-health", summary: "Answer a health message", serve: body(func(b *worker.Health) *string { return &b.RunID },
			func(ctx context.Context, c City, id string, b worker.Health, _ url.Values) (none, error) {
				return none{}, c.ReportHealth(ctx, id, b)
			})},
		{method: post, path: "/ack", limit: quick, body: smallBody, id: "ack", summary: "Acknowledge a message", serve: body(func(b *worker.Ack) *string { return &b.RunID },
			func(ctx context.Context, c City, id string, b worker.Ack, _ url.Values) (none, error) {
				return none{}, c.Ack(ctx, id, b)
			})},
		{method: post, path: "/context/claim", exact: true, limit: quick, body: smallBody, id: "claim-context", summary: "Get the context sections that are due now, for a hook that passes them to the agent", serve: body(func(b *worker.ContextClaim) *string { return &b.RunID },
			func(ctx context.Context, c City, id string, b worker.ContextClaim, _ url.Values) (worker.Context, error) {
				return c.ClaimContext(ctx, id, b)
			})},
		{method: get, path: "/stream", limit: always, id: "stream", summary: "Get the messages to the run, as server-sent events", serve: stream()},

		{method: post, path: "/prompt", who: directors, limit: always, body: promptBody, id: "prompt", summary: "Send a prompt to the agent; with wait, answer when it has that state", serve: body(func(b *worker.Prompt) *string { return &b.RunID },
			func(ctx context.Context, c City, _ string, b worker.Prompt, q url.Values) (worker.PromptAnswer, error) {
				return c.Prompt(ctx, b, worker.Progress(q.Get("wait")))
			})},
		{method: post, path: "/context", who: directors, limit: slow, body: promptBody, id: "context", summary: "Send context sections; a section with unchanged content is sent again only in the modes compact and resume", serve: body(func(b *worker.Context) *string { return &b.RunID },
			func(ctx context.Context, c City, _ string, b worker.Context, _ url.Values) (worker.ContextAnswer, error) {
				return c.Context(ctx, b)
			})},
		{method: post, path: "/identity", who: directors, limit: slow, body: smallBody, id: "identity", summary: "Set the identity and the credentials of the run", serve: body(func(b *worker.Identity) *string { return &b.RunID },
			func(ctx context.Context, c City, _ string, b worker.Identity, _ url.Values) (worker.IdentityAnswer, error) {
				return c.Identity(ctx, b)
			})},
		{method: post, path: "/interrupt", who: directors, limit: slow, body: smallBody, id: "interrupt", summary: "End the turn; answer when that is confirmed", serve: body(func(b *worker.Interrupt) *string { return &b.RunID },
			func(ctx context.Context, c City, _ string, b worker.Interrupt, _ url.Values) (worker.InterruptAnswer, error) {
				return c.Interrupt(ctx, b)
			})},
		{method: get, path: "/health", who: directors, limit: quick, id: "health", summary: "Get the health of the run", serve: query(func(ctx context.Context, c City, id string, _ url.Values) (worker.Health, error) {
			return c.Health(ctx, id)
		})},
		{method: get, path: "/events", who: directors, all: true, limit: quick, id: "events", summary: "Get the events after a cursor", serve: query(events)},
	}
}

// none is the answer of a route without an answer body: status 204.
type none struct{}
