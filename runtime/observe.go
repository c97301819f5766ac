package runtime

import (
	"context"
	"fmt"
	"time"
)

// Liveness is a fact about a process that may be unknown. The zero value is unknown. Unknown never
// justifies a destructive operation.
type Liveness uint8

// The three values.
const (
	Unknown Liveness = iota // the state could not be read
	Alive                   // it certainly exists
	Dead                    // it certainly does not exist
)

// String returns alive, dead or unknown.
func (l Liveness) String() string {
	switch l {
	case Alive:
		return "alive"
	case Dead:
		return "dead"
	default:
		return "unknown"
	}
}

// MarshalText returns the text of [Liveness.String].
func (l Liveness) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText parses the text of [Liveness.String]. Any other text is [Unknown].
func (l *Liveness) UnmarshalText(text []byte) error {
	switch string(text) {
	case "alive":
		*l = Alive
	case "dead":
		*l = Dead
	default:
		*l = Unknown
	}
	return nil
}

// Exit is how an agent's process exited.
type Exit struct {
	Code   int       `json:"code"`             // exit code; -1 if the process was killed by a signal, or if the code is unknown
	Signal string    `json:"signal,omitempty"` // "killed", "terminated", ...
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"` // reason, if the backend reports one
}

// String returns the exit code or the signal, with the reason if there is one.
func (e Exit) String() string {
	text := fmt.Sprintf("exited with code %d", e.Code)
	switch {
	case e.Signal != "":
		text = "ended by signal: " + e.Signal
	case e.Code < 0:
		text = "exited; its exit code is unknown"
	}
	if e.Reason != "" {
		text += "; " + e.Reason
	}
	return text
}

// Observation is the result of one observation of a session.
type Observation struct {
	// Session is alive if the named session exists, dead if it certainly does not exist.
	Session Liveness `json:"session"`
	// Agent is alive if the process that the session was started for runs. The process is
	// identified by its id and start time, not by its name.
	Agent Liveness `json:"agent"`
	// InstanceToken identifies the instance. It is a secret: never print it.
	InstanceToken string `json:"-"`
	// Handle is the argument with which [Recover] finds the session again. It may contain the
	// instance token: store it like a token.
	Handle string `json:"-"`
	// PID and StartTime identify the agent's process; they are zero if unknown or remote. StartTime
	// is in a unit of the kernel. It is comparable only on one host and until its next boot.
	PID       int    `json:"pid,omitempty"`
	StartTime uint64 `json:"start_time,omitempty"`
	// StartedAt is when this instance began.
	StartedAt time.Time `json:"started_at,omitzero"`
	// Exit is set if the agent was observed to have exited.
	Exit *Exit `json:"exit,omitempty"`
	// Cause is the reason why a dead session is gone, as text for people, if the driver knows it:
	// for example that the server of all sessions stopped. Otherwise it is empty.
	Cause string `json:"cause,omitempty"`
	// Last is set if the last output of an exited agent shows that the model provider refuses
	// requests at the moment. Otherwise it is nil.
	Last *Evidence `json:"last,omitempty"`
	// Attached is the number of connected terminals, or -1 if the driver does not know it.
	Attached int `json:"attached"`
	// LastActivity is when the agent last wrote output; zero if unknown.
	LastActivity time.Time `json:"last_activity,omitzero"`
	// LastInput is when a person last typed; zero if never or unknown.
	LastInput time.Time `json:"last_input,omitzero"`
	// Title is the terminal's title, if there is one.
	Title string `json:"title,omitempty"`
	// At is the time of the observation.
	At time.Time `json:"at"`
}

// Observer is the extension of drivers that distinguish dead from unknown.
type Observer interface {
	// Observe observes the named session now. For a session that does not exist, Session and Agent
	// are [Dead] and there is no error. What cannot be read is [Unknown]. If nothing can be read,
	// the error matches [ErrRuntimeUnavailable].
	Observe(ctx context.Context, name string) (Observation, error)
}

// Observe observes the named session. Without the extension it uses the booleans of [Inspector].
// These cannot prove that a session does not exist, so false becomes [Unknown].
func Observe(ctx context.Context, p Provider, name string) (Observation, error) {
	if o, ok := As[Observer](p, name); ok {
		return o.Observe(ctx, name)
	}
	obs := Observation{Attached: -1, At: time.Now()}
	if p.IsRunning(name) {
		obs.Session = Alive
	}
	if p.Capabilities().CanReportActivity {
		at, err := p.GetLastActivity(name)
		if err != nil {
			return obs, err
		}
		obs.LastActivity = at
	}
	return obs, nil
}
