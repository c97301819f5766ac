package runtime

import "time"

// EventKind is the kind of an event.
type EventKind string

// The kinds of session events.
const (
	EventStarted  EventKind = "started"  // an instance began
	EventExited   EventKind = "exited"   // the agent exited; Exit is set
	EventGone     EventKind = "gone"     // the session does not exist any more
	EventOutput   EventKind = "output"   // the agent wrote; at most four a second for each session
	EventAttached EventKind = "attached" // the number of terminals changed; Attached is set
	EventStatus   EventKind = "status"   // the program reported its state; Status is set
	EventTitle    EventKind = "title"    // the terminal's title changed; Text is set
	// EventServerLost: the server that all sessions of the driver share has stopped by itself, and
	// the sessions with it. Text describes how the driver knows it. Each session is also reported
	// as gone.
	EventServerLost EventKind = "server-lost"
	EventResync     EventKind = "resync" // events may have been lost: observe all sessions again
)

// Event reports that something happened in a session. A receiver must observe the session again
// before it acts.
type Event struct {
	Kind     EventKind `json:"kind"`
	Session  string    `json:"session,omitempty"` // empty for resync and server-lost
	Time     time.Time `json:"time"`
	Exit     *Exit     `json:"exit,omitempty"`
	Attached int       `json:"attached,omitempty"`
	Status   string    `json:"status,omitempty"` // text that the program reported
	Text     string    `json:"text,omitempty"`
}
