package runtime

import "time"

// EventKind says what happened to a session.
type EventKind string

// The kinds of session events.
const (
	EventStarted  EventKind = "started"  // an instance began
	EventExited   EventKind = "exited"   // its agent ended; Exit is set
	EventGone     EventKind = "gone"     // the session does not exist any more
	EventOutput   EventKind = "output"   // the agent wrote; at most four a second for each session
	EventAttached EventKind = "attached" // the number of terminals changed; Attached is set
	EventStatus   EventKind = "status"   // the program reported its state; Status is set
	EventTitle    EventKind = "title"    // the terminal's title changed; Text is set
	// EventServerLost: what all sessions of the driver shared has ended by itself, and they
	// with it; Text says how it is known. Each of them is reported as gone, too.
	EventServerLost EventKind = "server-lost"
	EventResync     EventKind = "resync" // events may have been lost: look at everything again
)

// Event says that something happened and where to look. It is never the only
// evidence for an act: a consumer observes the session again.
type Event struct {
	Kind     EventKind `json:"kind"`
	Session  string    `json:"session,omitempty"` // empty for resync and server-lost
	Time     time.Time `json:"time"`
	Exit     *Exit     `json:"exit,omitempty"`
	Attached int       `json:"attached,omitempty"`
	Status   string    `json:"status,omitempty"` // the program's own words
	Text     string    `json:"text,omitempty"`
}
