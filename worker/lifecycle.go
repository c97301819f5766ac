package worker

import "time"

// Transition is a change of a run's state.
type Transition string

// The transitions of a run. A worker reports each when it happens. The city
// accepts them repeated, late and out of order.
const (
	Started  Transition = "started"  // the agent's process has begun
	Ready    Transition = "ready"    // it can accept its first prompt
	Busy     Transition = "busy"     // it works on a prompt
	Idle     Transition = "idle"     // the turn has ended, it waits for input
	Stopping Transition = "stopping" // it has begun to stop
	Stopped  Transition = "stopped"  // it has exited, see [Detail.ExitCode]
	Crashed  Transition = "crashed"  // it has exited without a request, see [Detail.ExitCode]
	Errored  Transition = "error"    // it runs and cannot work; any later transition ends this state
)

// Lifecycle is the body of POST /lifecycle.
type Lifecycle struct {
	Event     Transition `json:"event"`
	RunID     string     `json:"run_id"`
	SessionID string     `json:"session_id,omitempty"` // the session's name; the city knows it from the token
	Timestamp time.Time  `json:"timestamp"`            // when it happened; if it is zero, before the start of the instance or in the future, the time of arrival counts
	// Seq orders the reports of a run that have the same time: greater is later. Zero means
	// unknown.
	Seq      uint64 `json:"seq,omitempty"`
	Metadata Detail `json:"metadata,omitzero"`
}

// Detail is additional information about a transition.
type Detail struct {
	ExitCode       *int     `json:"exit_code,omitempty"`       // stopped: exit code of the agent; nil if it was killed by a signal or if unknown
	Signal         string   `json:"signal,omitempty"`          // stopped: "SIGKILL"
	Reason         string   `json:"reason,omitempty"`          // for people, and for [Idle] why the turn ended, see [TurnEnd]
	PromptID       string   `json:"prompt_id,omitempty"`       // busy: the message that it works on; idle: the message that it has finished
	ConversationID string   `json:"conversation_id,omitempty"` // the model provider's id, with which the conversation is resumed
	Agent          string   `json:"agent,omitempty"`           // started: name of the agent CLI or runtime
	Version        string   `json:"version,omitempty"`         // started: its version
	Offers         []string `json:"offers,omitempty"`          // started: its abilities, see the Offer constants
	ContextUsage   *float64 `json:"context_usage,omitempty"`   // used part of the context window, 0 to 1
	Background     int      `json:"background,omitempty"`      // idle: number of tasks that still run in the background
	// Via is how the worker knows it, see [ViaHook]; empty means from the agent itself.
	Via string `json:"via,omitempty"`
	// PromptHash is, for busy, the hash of an accepted prompt that did not come through the stream.
	// See [PromptHash].
	PromptHash string `json:"prompt_hash,omitempty"`
}

// The reasons that an idle report may give for the end of its turn.
const (
	TurnDone        = "done"
	TurnInterrupted = "interrupted"
	TurnFailed      = "failed"  // the model or the runtime failed; see telemetry
	TurnLimited     = "limited" // a usage limit was reached; the telemetry event has its end
)

// ViaHook means that a hook of the agent CLI made the report. Agent CLIs call no hook at some ends of turns, so the city
// corrects the activity of such a worker with its other signals.
const ViaHook = "hook"

// The abilities that a worker may offer with started. The city sends no message for
// an ability that the worker does not offer. Prompts are always sent.
const (
	OfferContext   = "context"   // accepts sections and reports their nonces
	OfferIdentity  = "identity"  // applies new credentials without a restart
	OfferInterrupt = "interrupt" // ends a turn and confirms its boundary
	OfferCompact   = "compact"   // compacts its context on request
	OfferHealth    = "health"    // answers health questions
	// OfferClaim: the agent's hooks claim its context when its first turn begins, see
	// [ContextClaim]. Before that the city sends it no context.
	OfferClaim     = "claim"
	OfferAuthorize = "authorize" // asks before every tool call; proved with the canary, see [Canary]
)

// LifecycleAnswer is the answer to POST /lifecycle. It never contains the token.
type LifecycleAnswer struct {
	Accepted bool `json:"accepted"`
	// Late reports that the report was recorded but changed nothing, because the city has a later
	// one.
	Late bool `json:"late,omitempty"`
}
