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
		{method: post, path: "/lifecycle", limit: quick, body: smallBody, id: "lifecycle", summary: "Report a transition of the run", serve: report(City.Lifecycle)},
		{method: post, path: "/authorize", limit: always, body: eventsBody, id: "authorize", summary: "Ask whether the agent may use a tool with this input", serve: report(City.Authorize)},
		{method: post, path: "/telemetry", limit: quick, body: eventsBody, id: "telemetry", summary: "Report events and usage", serve: report(City.Telemetry)},
		{method: post, path: "/interaction", limit: quick, body: eventsBody, id: "interaction", summary: "Report a question that blocks the agent, or its end", serve: report(City.Interaction)},
		{method: post, path: "/health", limit: quick, body: smallBody, id: "report-health", summary: "Answer a health message", serve: reportOnly(City.ReportHealth)},
		{method: post, path: "/ack", limit: quick, body: smallBody, id: "ack", summary: "Acknowledge a message", serve: reportOnly(City.Ack)},
		{method: post, path: "/context/claim", exact: true, limit: quick, body: smallBody, id: "claim-context", summary: "Get the context sections that are due now, for a hook that passes them to the agent", serve: report(City.ClaimContext)},
		{method: get, path: "/stream", limit: always, id: "stream", summary: "Get the messages to the run, as server-sent events", serve: stream()},

		{method: post, path: "/prompt", who: directors, limit: always, body: promptBody, id: "prompt", summary: "Send a prompt to the agent; with wait, answer when it has that state", serve: body(func(ctx context.Context, c City, _ string, b worker.Prompt, q url.Values) (worker.PromptAnswer, error) {
			return c.Prompt(ctx, b, worker.Progress(q.Get("wait")))
		})},
		{method: post, path: "/context", who: directors, limit: slow, body: promptBody, id: "context", summary: "Send context sections; a section with unchanged content is sent again only in the modes compact and resume", serve: order(City.Context)},
		{method: post, path: "/identity", who: directors, limit: slow, body: smallBody, id: "identity", summary: "Set the identity and the credentials of the run", serve: order(City.Identity)},
		{method: post, path: "/interrupt", who: directors, limit: slow, body: smallBody, id: "interrupt", summary: "End the turn; answer when that is confirmed", serve: order(City.Interrupt)},
		{method: get, path: "/health", who: directors, limit: quick, id: "health", summary: "Get the health of the run", serve: query(func(ctx context.Context, c City, id string, _ url.Values) (worker.Health, error) {
			return c.Health(ctx, id)
		})},
		{method: get, path: "/events", who: directors, all: true, limit: quick, id: "events", summary: "Get the events after a cursor", serve: query(events)},
	}
}

// none is the answer of a route without an answer body: status 204.
type none struct{}
