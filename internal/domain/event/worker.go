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
