package worker

import "time"

// EventType is the kind of a telemetry event.
type EventType string

// The kinds of telemetry events. A city records one that it does not know, with
// its usage.
const (
	TurnComplete       EventType = "turn_complete"       // a turn has ended; usage of one response of the model
	ToolUsed           EventType = "tool_used"           // a tool has run
	RateLimited        EventType = "rate_limited"        // a limit; Until says when it ends, if that is known
	ContextPressure    EventType = "context_pressure"    // ContextUsage has changed
	Compacted          EventType = "compacted"           // the conversation was compacted; a new epoch
	CredentialExpiring EventType = "credential_expiring" // Until says when
	Plan               EventType = "plan"                // Message has the steps that the agent means to take, one on each line
	ModeChanged        EventType = "mode"                // Message is the mode that the agent works in from now on
	Failure            EventType = "error"               // the model or the runtime failed
)

// Telemetry is the body of POST /telemetry.
type Telemetry struct {
	RunID  string           `json:"run_id"`
	Events []TelemetryEvent `json:"events"`
}

// TelemetryEvent is one event. It is recorded once for each (run, MessageID); a
// later report of the same one replaces the earlier.
type TelemetryEvent struct {
	Type      EventType `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	// MessageID names the response of the model, as the model provider does. Without one the
	// event counts by its content.
	MessageID string `json:"message_id,omitempty"`
	// PromptID names, for [TurnComplete], the message of the prompt that the turn has
	// worked on: that is [Consumed] by it, as by an acknowledgement.
	PromptID     string     `json:"prompt_id,omitempty"`
	Usage        *Usage     `json:"usage,omitempty"`
	ToolsCalled  []ToolCall `json:"tools_called,omitempty"`
	Until        *time.Time `json:"until,omitempty"`
	ContextUsage *float64   `json:"context_usage,omitempty"`
	Message      string     `json:"message,omitempty"` // of an error, for people
	// Retry says, for [Failure], that the agent repeats the request; nil: the turn failed.
	Retry   *Retry   `json:"retry,omitempty"`
	History *History `json:"history,omitempty"`
}

// Retry is a request to the model that failed and is repeated.
type Retry struct {
	Attempt int        `json:"attempt,omitempty"`
	Of      int        `json:"of,omitempty"`   // attempts after which the agent gives up; 0: not known
	Next    *time.Time `json:"next,omitempty"` // when it is repeated; nil: not known
}

// Usage is what one response of the model took. Nil is unknown, which is not
// zero. The buckets do not overlap unless Semantics says so.
type Usage struct {
	InputTokens         *int64   `json:"input_tokens,omitempty"`
	OutputTokens        *int64   `json:"output_tokens,omitempty"`
	CacheReadTokens     *int64   `json:"cache_read_tokens,omitempty"`
	CacheCreationTokens *int64   `json:"cache_creation_tokens,omitempty"`
	ReasoningTokens     *int64   `json:"reasoning_tokens,omitempty"`
	Model               string   `json:"model,omitempty"`
	Provider            string   `json:"provider,omitempty"` // who serves the model, as gen_ai.provider.name of OpenTelemetry has it
	CostUSD             *float64 `json:"cost_usd,omitempty"` // as the source computed it
	// Semantics says how the model provider counts: empty is disjoint buckets.
	Semantics Semantics `json:"semantics,omitempty"`
	// Source is where the numbers come from: "vendor", "transcript" or "estimate".
	// Empty is model provider.
	Source string `json:"source,omitempty"`
}

// Semantics names a way of counting tokens.
type Semantics string

// The ways of counting.
const (
	Disjoint       Semantics = "disjoint"        // each token is in one bucket
	CacheInInput   Semantics = "cache_in_input"  // input_tokens counts the tokens read from the cache too
	ThinkingInside Semantics = "thinking_inside" // as cache_in_input, and output_tokens counts reasoning too
)

// ToolCall is one use of a tool.
type ToolCall struct {
	Name       string `json:"name"`
	Success    bool   `json:"success"`
	DurationMS int64  `json:"duration_ms"`
	CallID     string `json:"call_id,omitempty"` // as in [Call.ID]: shows a tool that ran after it was denied
}

// History says where the conversation can be read: a file, and where the turn
// stands in it.
type History struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset,omitempty"` // in bytes
	Turn   string `json:"turn,omitempty"`
}

// TelemetryAnswer is the answer to POST /telemetry.
type TelemetryAnswer struct {
	Recorded int `json:"recorded"` // events that were new or changed something
	Known    int `json:"known"`    // events that were there already
}
