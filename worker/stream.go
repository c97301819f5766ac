package worker

import (
	"encoding/json"
	"math"
	"time"
)

// MessageKind is the kind of a message from a city to a worker.
type MessageKind string

// The kinds of messages. A worker acknowledges a message of unknown kind as
// [Refused].
const (
	PromptMessage    MessageKind = "prompt"    // data is a [Prompt]
	ContextMessage   MessageKind = "context"   // [Context]
	IdentityMessage  MessageKind = "identity"  // [Identity]
	InterruptMessage MessageKind = "interrupt" // [Interrupt]
	CompactMessage   MessageKind = "compact"   // [Compact]
	HealthMessage    MessageKind = "health"    // answered by POST /health
	ReplyMessage     MessageKind = "reply"     // [Reply]
	SnapshotMessage  MessageKind = "snapshot"  // [Snapshot]
)

// The events of the stream that are not messages.
const (
	// GapEvent reports that this reader missed messages; its data is a [Gap].
	GapEvent = "gap"
	// LaggedEvent is the last event of a stream that the city closes because its reader was too
	// slow.
	LaggedEvent = "lagged"
	// EndEvent is the last event of a run: the run has ended, or another instance has replaced it.
	// The worker must not connect again.
	EndEvent = "end"
)

// Message is a message from a city to a worker. It is sent as one server-sent event with the id Seq
// and the name Kind.
type Message struct {
	Seq  uint64          `json:"seq"` // increases in the stream of a run; for Last-Event-ID
	ID   string          `json:"id"`  // id for the acknowledgment
	Kind MessageKind     `json:"kind"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Gap reports which messages a reader cannot receive any more. Messages that were not acknowledged
// are sent again with new numbers.
type Gap struct {
	From uint64 `json:"from"`
	Next uint64 `json:"next"` // number of the first message that is available
}

// Snapshot lists the tools that a worker may allow itself while the city cannot be reached, until
// it expires. It allows nothing else.
type Snapshot struct {
	RunID     string    `json:"run_id"`
	Tools     []string  `json:"tools"` // tools that only read
	ExpiresAt time.Time `json:"expires_at"`
	Signature string    `json:"signature"` // signature of the city over the other fields
}

// Event is one entry of GET /events: a report of a worker, or the result of a message to it.
type Event struct {
	Seq   uint64          `json:"seq"` // the cursor
	At    time.Time       `json:"at"`
	RunID string          `json:"run_id"`
	Kind  string          `json:"kind"` // "lifecycle", "telemetry", "authorize", "interaction", "ack", ...
	Data  json.RawMessage `json:"data,omitempty"`
}

// Seconds is a duration in whole seconds, as it is sent.
type Seconds int64

// Duration returns the duration in Go's type. A longer one becomes the longest possible.
func (s Seconds) Duration() time.Duration {
	const longest = math.MaxInt64 / int64(time.Second)
	return time.Duration(max(-longest, min(int64(s), longest))) * time.Second
}
