package workerapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"gascity/internal/httpwire"
	"gascity/worker"
)

// codeDescriptions explain the error codes in answers.
var codeDescriptions = map[string]string{
	"unauthorized": "no token, or an unknown one",
	"forbidden":    "the token is another run's or may not do this, or the request comes from another user or a web page",
	"fenced":       "a newer run of the agent has replaced this run: the worker must exit",
	"not_found":    "no such path, run, message or question",
	"too_large":    "the body is larger than the limit of the path",
	"invalid":      "the request is not valid; repeating it does not help",
	"refused":      "the request cannot be carried out now; nothing was changed",
	"timed_out":    "the time limit was reached; the requested action may still happen",
	"unavailable":  "the city cannot answer now: ask again; for an authorization this is a denial",
	"internal":     "the city has a defect; see its log",
}

// problems returns the error answers of all operations, by code.
func problems(schemas huma.Registry) map[string]*huma.Response {
	all := map[string]*huma.Response{}
	schema := schemas.Schema(reflect.TypeFor[worker.Problem](), true, "Problem")
	for _, c := range append(worker.Codes(), worker.Code{Code: "internal", Status: http.StatusInternalServerError, Title: "Internal error"}) {
		all[c.Code] = &huma.Response{Description: c.Code + ": " + codeDescriptions[c.Code], Content: map[string]*huma.MediaType{httpwire.ProblemType: {
			Schema:  schema,
			Example: worker.Problem{Type: "urn:gascity:worker:" + c.Code, Title: c.Title, Status: c.Status, Detail: codeDescriptions[c.Code], Code: c.Code},
		}}}
	}
	return all
}

// errorResponses returns references to the error answers, by status.
func errorResponses() map[string]*huma.Response {
	all := map[string]*huma.Response{"default": {Ref: "#/components/responses/internal"}}
	for _, c := range worker.Codes() {
		all[strconv.Itoa(c.Status)] = &huma.Response{Ref: "#/components/responses/" + c.Code}
	}
	return all
}

// servers returns the description of the two transports.
func servers() []*huma.Server {
	return []*huma.Server{
		{URL: "http://city", Description: "over the Unix socket GC_WORKER_SOCKET; the host's name does not matter"},
		{URL: "http://127.0.0.1:{port}", Description: "GC_WORKER_URL, where a worker cannot use a Unix socket; the port is written in <city>/.runtime/worker-<session>.port", Variables: map[string]*huma.ServerVariable{
			"port": {Default: "0"},
		}},
	}
}

// describe returns the description of a route for people.
func (row route) describe() string {
	text := "Allowed callers: the run's worker, by its token."
	switch {
	case row.all:
		text = "Allowed callers: the run's worker, and the owner of the city. For the owner a missing run_id means all runs."
	case row.who == directors:
		text = "Allowed callers: the owner of the city, and the run's worker."
	}
	if row.body > 0 {
		text += fmt.Sprintf(" The body has at most %d KiB. A missing run_id means the caller's own run.", row.body>>10)
	}
	if row.id == "stream" {
		text += " One event for each message: its id is the message's seq, its event the kind, its data a Message on one line. The events gap (Gap), lagged and end have no id." +
			" Each new reader gets a message again until POST /ack has named its id. A stream without messages gets a comment every 15 s."
	}
	return text
}

// examples are valid request bodies, by operation.
var examples = map[string]string{
	"lifecycle":     `{"run_id":"7f3a","event":"idle","timestamp":"2026-03-01T15:00:00Z","metadata":{"context_usage":0.4}}`,
	"authorize":     `{"run_id":"7f3a","id":"call-1","tool":"Bash","input":{"command":"git push --force"},"context":{"cwd":"/src/app"}}`,
	"telemetry":     `{"run_id":"7f3a","events":[{"type":"turn_complete","timestamp":"2026-03-01T15:01:00Z","usage":{"model":"some-model","input_tokens":12000,"output_tokens":3500,"cache_read_tokens":8000}}]}`,
	"interaction":   `{"run_id":"7f3a","event":"raised","id":"question-1","kind":"question","text":"Which branch?","options":[{"id":"main","label":"main"}]}`,
	"report-health": `{"run_id":"7f3a","status":"healthy","uptime_seconds":3600,"current_state":"idle","last_activity":"2026-03-01T15:00:00Z","context_usage":0.73,"error":null}`,
	"ack":           `{"run_id":"7f3a","id":"m-12","state":"consumed"}`,
	"claim-context": `{"run_id":"7f3a","id":"claim-1","source":"startup"}`,
	"prompt":        `{"run_id":"7f3a","content":"Review the change","priority":"normal","source":"nudge"}`,
	"context":       `{"run_id":"7f3a","sections":[{"type":"role","content":"You review changes."}],"mode":"full"}`,
	"identity":      `{"run_id":"7f3a","role":"reviewer","agent_name":"alpha","env":{"LANG":"C.UTF-8"}}`,
	"interrupt":     `{"run_id":"7f3a"}`,
}

// answered are the types that only answers contain, so that all their fields are present.
var answered = []string{"Event", "Allowance", "Snapshot"}

// vocabulary are the known values of fields, by type and field name.
var vocabulary = map[string]string{
	"Lifecycle.event":     list(worker.Started, worker.Ready, worker.Busy, worker.Idle, worker.Stopping, worker.Stopped, worker.Crashed, worker.Errored),
	"Detail.reason":       "how a turn ended: " + list(worker.TurnDone, worker.TurnInterrupted, worker.TurnFailed, worker.TurnLimited),
	"Detail.offers":       "any of " + list(worker.OfferContext, worker.OfferIdentity, worker.OfferInterrupt, worker.OfferCompact, worker.OfferHealth, worker.OfferAuthorize),
	"TelemetryEvent.type": list(worker.TurnComplete, worker.ToolUsed, worker.RateLimited, worker.ContextPressure, worker.Compacted, worker.CredentialExpiring, worker.Plan, worker.ModeChanged, worker.Failure),
	"Usage.semantics":     list(worker.Disjoint, worker.CacheInInput, worker.ThinkingInside),
	"Decision.effect":     list(worker.Allow, worker.Deny),
	"Context.mode":        list(worker.FullContext, worker.CompactContext, worker.ResumeContext),
	"ContextClaim.source": list(worker.BeganFresh, worker.BeganResumed, worker.BeganCleared, worker.BeganCompacted),
	"Interaction.event":   list(worker.Raised, worker.Resolved),
	"Interaction.kind":    "permission, question, menu, login, limit",
	"Prompt.priority":     list(worker.System, worker.Urgent, worker.Normal),
	"Ack.state":           list(worker.Received, worker.Submitted, worker.Consumed, worker.Refused, worker.Failed),
	"Health.status":       list(worker.Healthy, worker.Degraded, worker.Unhealthy),
	"Message.kind":        list(worker.PromptMessage, worker.ContextMessage, worker.IdentityMessage, worker.InterruptMessage, worker.CompactMessage, worker.HealthMessage, worker.ReplyMessage, worker.SnapshotMessage),
	"Event.kind":          "connected, lifecycle, telemetry, interaction, authorize, ack, health, context, bypass",
}

// list returns the words, separated by commas.
func list[S ~string](words ...S) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// example returns the example body of an operation, or nil if it has none.
func example(id string) any {
	var value any
	if json.Unmarshal([]byte(examples[id]), &value) != nil {
		return nil
	}
	return value
}
