package worker

import "time"

// Transition is an event in a run's life, in the words of the seed document.
type Transition string

// The transitions of a run. A worker reports each when it happens; the city
// accepts them repeated, late and out of order.
const (
	Started  Transition = "started"  // the agent's process has begun
	Ready    Transition = "ready"    // it can take its first prompt
	Busy     Transition = "busy"     // it works on a prompt
	Idle     Transition = "idle"     // the turn is over, it waits for input
	Stopping Transition = "stopping" // it has begun to end
	Stopped  Transition = "stopped"  // it has ended, see [Detail.ExitCode]
	Crashed  Transition = "crashed"  // it has ended without a request, see [Detail.ExitCode]
	Errored  Transition = "error"    // it lives and cannot work; any later word ends that
)

// Lifecycle is the body of POST /lifecycle.
type Lifecycle struct {
	Event     Transition `json:"event"`
	RunID     string     `json:"run_id"`
	SessionID string     `json:"session_id,omitempty"` // the session's name; the city knows it from the token
	Timestamp time.Time  `json:"timestamp"`            // when it happened; zero, before the start of the instance or in the future: when it arrives
	// Seq orders the reports of a run that have one time: greater is later. Zero
	// is unknown.
	Seq      uint64 `json:"seq,omitempty"`
	Metadata Detail `json:"metadata,omitzero"`
}

// Detail is what else a worker knows of a transition.
type Detail struct {
	ExitCode       *int     `json:"exit_code,omitempty"`       // stopped: the agent's; nil if a signal ended it or it is unknown
	Signal         string   `json:"signal,omitempty"`          // stopped: "SIGKILL"
	Reason         string   `json:"reason,omitempty"`          // for people, and for [Idle] why the turn ended, see [TurnEnd]
	PromptID       string   `json:"prompt_id,omitempty"`       // busy: the message that it works on; idle: that it is done with
	ConversationID string   `json:"conversation_id,omitempty"` // the model provider's own, by which the conversation is resumed
	Agent          string   `json:"agent,omitempty"`           // started: which agent CLI or runtime
	Version        string   `json:"version,omitempty"`         // started: its version
	Offers         []string `json:"offers,omitempty"`          // started: what it can do, see [Offer]
	ContextUsage   *float64 `json:"context_usage,omitempty"`   // 0 to 1, of the context window
	Background     int      `json:"background,omitempty"`      // idle: tasks that still run behind it
	// Via says by what the worker knows, see [ViaHook]; empty is of itself.
	Via string `json:"via,omitempty"`
	// PromptHash is, for busy, the prompt that was taken where it came by another way
	// than the stream: the SHA-256 in hex of its words with one space between two, where
	// words are what blanks, tabs and ends of lines separate. See [PromptHash].
	PromptHash string `json:"prompt_hash,omitempty"`
}

// The reasons that an idle report may give for the end of its turn.
const (
	TurnDone        = "done"
	TurnInterrupted = "interrupted"
	TurnFailed      = "failed"  // the model or the runtime failed; see telemetry
	TurnLimited     = "limited" // a usage limit; the telemetry event has its end
)

// ViaHook says that a hook of the agent CLI reported it: some ends of turns have none,
// so the city heals what such a report says by what it sees.
const ViaHook = "hook"

// The abilities that a worker may offer with started. What it does not offer it
// is not asked for by the stream, except that a prompt is always sent.
const (
	OfferContext   = "context"   // takes sections and gives their nonce back
	OfferIdentity  = "identity"  // applies new credentials without a restart
	OfferInterrupt = "interrupt" // ends a turn and confirms its boundary
	OfferCompact   = "compact"   // compacts its context when asked
	OfferHealth    = "health"    // answers health questions
	// OfferClaim: the agent's hooks claim its context when its first turn begins, see
	// [ContextClaim]. Before that it is not given any.
	OfferClaim     = "claim"
	OfferAuthorize = "authorize" // asks before every tool; reported by the canary, see [Canary]
)

// LifecycleAnswer is the answer to POST /lifecycle. It never holds the token.
type LifecycleAnswer struct {
	Accepted bool `json:"accepted"`
	// Late says that the report was recorded and changed nothing, because the city
	// knows of something later.
	Late bool `json:"late,omitempty"`
}
