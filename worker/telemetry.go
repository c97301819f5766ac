package worker

import "time"

// EventType is the kind of a telemetry event.
type EventType string

// The kinds of telemetry events. A city also records an event of unknown kind, with
// its usage.
const (
	TurnComplete       EventType = "turn_complete"       // a turn has ended; usage of one response of the model
	ToolUsed           EventType = "tool_used"           // a tool has run
	RateLimited        EventType = "rate_limited"        // a limit was reached; Until is its end, if known
	ContextPressure    EventType = "context_pressure"    // ContextUsage has changed
	Compacted          EventType = "compacted"           // the conversation was compacted; a new epoch
	CredentialExpiring EventType = "credential_expiring" // Until is the time
	Plan               EventType = "plan"                // Message has the agent's planned steps, one on each line
	ModeChanged        EventType = "mode"                // Message is the agent's new mode
	Failure            EventType = "error"               // the model or the runtime failed
)

// Telemetry is the body of POST /telemetry.
type Telemetry struct {
	RunID  string           `json:"run_id"`
	Events []TelemetryEvent `json:"events"`
}

// TelemetryEvent is one event. It is recorded once for each pair of run and MessageID; a later
// report of the same event replaces the earlier one.
type TelemetryEvent struct {
	Type      EventType `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	// MessageID is the model provider's id of the response. Without it, events with the same
	// content are the same event.
	MessageID string `json:"message_id,omitempty"`
	// PromptID is, for [TurnComplete], the id of the prompt that the turn worked on. That prompt
	// becomes [Consumed], as by an acknowledgment.
	PromptID     string     `json:"prompt_id,omitempty"`
	Usage        *Usage     `json:"usage,omitempty"`
	ToolsCalled  []ToolCall `json:"tools_called,omitempty"`
	Until        *time.Time `json:"until,omitempty"`
	ContextUsage *float64   `json:"context_usage,omitempty"`
	Message      string     `json:"message,omitempty"` // text of an error, for people
	// Retry reports, for [Failure], that the agent repeats the request. Nil means that the turn
	// failed.
	Retry   *Retry   `json:"retry,omitempty"`
	History *History `json:"history,omitempty"`
}

// Retry is a request to the model that failed and is repeated.
type Retry struct {
	Attempt int        `json:"attempt,omitempty"`
	Of      int        `json:"of,omitempty"`   // attempts after which the agent gives up; 0 if unknown
	Next    *time.Time `json:"next,omitempty"` // when it is repeated; nil if unknown
}

// Usage is the token usage of one response of the model. Nil means unknown, which is not zero. The
// counts do not overlap unless Semantics says so.
type Usage struct {
	InputTokens         *int64   `json:"input_tokens,omitempty"`
	OutputTokens        *int64   `json:"output_tokens,omitempty"`
	CacheReadTokens     *int64   `json:"cache_read_tokens,omitempty"`
	CacheCreationTokens *int64   `json:"cache_creation_tokens,omitempty"`
	ReasoningTokens     *int64   `json:"reasoning_tokens,omitempty"`
	Model               string   `json:"model,omitempty"`
	Provider            string   `json:"provider,omitempty"` // who serves the model, as gen_ai.provider.name of OpenTelemetry
	CostUSD             *float64 `json:"cost_usd,omitempty"` // as the source computed it
	// Semantics is how the model provider counts; empty means [Disjoint].
	Semantics Semantics `json:"semantics,omitempty"`
	// Source is the origin of the numbers: "vendor", "transcript" or "estimate". Empty means
	// "vendor", the model provider.
	Source string `json:"source,omitempty"`
}

// Semantics is a way of counting tokens.
type Semantics string

// The ways of counting.
const (
	Disjoint       Semantics = "disjoint"        // each token is in one count
	CacheInInput   Semantics = "cache_in_input"  // input_tokens includes tokens that were read from the cache
	ThinkingInside Semantics = "thinking_inside" // like cache_in_input, and output_tokens includes reasoning
)

// ToolCall is one use of a tool.
type ToolCall struct {
	Name       string `json:"name"`
	Success    bool   `json:"success"`
	DurationMS int64  `json:"duration_ms"`
	CallID     string `json:"call_id,omitempty"` // id as in [Call.ID]; it shows when a tool ran although it was denied
}

// History is where the conversation can be read: a file, and the position of the turn in it.
type History struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset,omitempty"` // in bytes
	Turn   string `json:"turn,omitempty"`
}

// TelemetryAnswer is the answer to POST /telemetry.
type TelemetryAnswer struct {
	Recorded int `json:"recorded"` // events that were new or changed something
	Known    int `json:"known"`    // events that were recorded already
}
