package worker

import (
	"encoding/json"
	"math"
	"time"
)

// MessageKind is the kind of what a city sends to a worker.
type MessageKind string

// The kinds of messages. A worker acknowledges one that it does not know as
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

// The events of the stream that are no messages.
const (
	// GapEvent says that messages were lost to this reader; its data is a [Gap].
	GapEvent = "gap"
	// LaggedEvent is the last event of a stream whose reader was too slow.
	LaggedEvent = "lagged"
	// EndEvent is the last event of a run: it has ended, or another instance has
	// taken its place. The worker does not connect again.
	EndEvent = "end"
)

// Message is what a city has for a worker: one server-sent event, whose id is
// Seq and whose name is Kind.
type Message struct {
	Seq  uint64          `json:"seq"` // increases along the stream of a run; for Last-Event-ID
	ID   string          `json:"id"`  // to acknowledge it by
	Kind MessageKind     `json:"kind"`
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Gap says which messages a reader cannot have any more. Those that were not
// acknowledged are sent again, under new numbers.
type Gap struct {
	From uint64 `json:"from"`
	Next uint64 `json:"next"` // the first that can be had
}

// Snapshot is what a worker may decide by itself while the city cannot be
// reached: these tools, until then. It allows nothing else, and nothing afterwards.
type Snapshot struct {
	RunID     string    `json:"run_id"`
	Tools     []string  `json:"tools"` // of reading classes only
	ExpiresAt time.Time `json:"expires_at"`
	Signature string    `json:"signature"` // of the city, over the other fields
}

// Event is one entry of GET /events: what a worker reported, or the result of
// what it received.
type Event struct {
	Seq   uint64          `json:"seq"` // the cursor
	At    time.Time       `json:"at"`
	RunID string          `json:"run_id"`
	Kind  string          `json:"kind"` // "lifecycle", "telemetry", "authorize", "interaction", "ack", ...
	Data  json.RawMessage `json:"data,omitempty"`
}

// Seconds is a duration in whole seconds on the wire.
type Seconds int64

// Duration returns what it is in Go; what is too long for that is the longest there is.
func (s Seconds) Duration() time.Duration {
	const longest = math.MaxInt64 / int64(time.Second)
	return time.Duration(max(-longest, min(int64(s), longest))) * time.Second
}
