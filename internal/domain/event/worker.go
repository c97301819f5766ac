package event

import "strings"

// The kinds of events from the worker API.
const (
	WorkerLifecycle   Kind = "worker.lifecycle"
	WorkerTelemetry   Kind = "worker.telemetry"
	WorkerInteraction Kind = "worker.interaction"
	WorkerAuthorize   Kind = "worker.authorize"
	WorkerAck         Kind = "worker.ack"
	WorkerHealth      Kind = "worker.health"
	WorkerConnected   Kind = "worker.connected"
	WorkerBypass      Kind = "worker.bypass"
	WorkerContext     Kind = "worker.context"
)

// The kinds of events about credentials of agents.
const (
	CredentialGood    Kind = "credential.good"
	CredentialFailing Kind = "credential.failing"
	CredentialExpired Kind = "credential.expired"
)

// WorkerReport returns the name of the worker API report that an event of this kind describes. ok
// is false if the kind is not from the worker API.
func (k Kind) WorkerReport() (name string, ok bool) { return strings.CutPrefix(string(k), "worker.") }

func workerKinds() []KindInfo {
	account, end := Datum{"credential", "its name in city.toml"}, Datum{"until", "when it expires, RFC 3339; absent: unknown"}
	run, body := Datum{"run", "the run_id"}, Datum{"body", "the report as JSON, without contents and credentials"}
	return []KindInfo{
		{WorkerConnected, "a worker has opened its stream", []Datum{run}},
		{WorkerLifecycle, "a worker reported a transition of its run", []Datum{run, body, {"late", "true: the report changed nothing"}, {"clock", "why its time was not used: it was before the start of the instance, or in the future"}}},
		{WorkerTelemetry, "a worker reported usage: tokens, cost or tool calls", []Datum{run, body}},
		{WorkerInteraction, "a worker reported a question, or that it is closed", []Datum{run, body}},
		{WorkerAuthorize, "the guard decided whether an agent may use a tool", []Datum{
			run, body, {"tool", "which"}, {"action", "allow, ask or deny"}, {"rule", "the id of the rule that decided"}, {"input", "sha256 of the tool's input"}, {"microseconds", "duration of the decision, without the time that a person took"},
		}},
		{WorkerAck, "a worker reported the progress of a message that it was sent", []Datum{run, body}},
		{WorkerBypass, "a tool ran although it was not allowed: the guard was bypassed", []Datum{run, body, {"tool", "which"}}},
		{WorkerContext, "the context of a run fills up", []Datum{run, {"step", "warn: a threshold was reached; compact: the worker was asked to compact; compacted: it has finished; overdue: it has not finished in time"}, {"usage", "the used fraction of the context window"}}},
		{WorkerHealth, "a worker reported its health", []Datum{run, body}},
		{CredentialGood, "a credential is available, or was renewed again after a failure", []Datum{account, end}},
		{CredentialFailing, "a credential could not be renewed, but is still valid", []Datum{account, end, {"error", "why"}}},
		{CredentialExpired, "a credential has expired or is not available: sessions with it get no new prompts until it is", []Datum{account, {"error", "why"}}},
	}
}
