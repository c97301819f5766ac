package runtime

import (
	"context"
	"fmt"
	"time"
)

// Liveness is a fact about a process that may be unknown. The zero value is
// unknown, and unknown never justifies a destructive act.
type Liveness uint8

// The three answers.
const (
	Unknown Liveness = iota // it could not be read
	Alive                   // read, and there
	Dead                    // read, and certainly gone
)

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

// MarshalText writes the word of [Liveness.String].
func (l Liveness) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the word; one that it does not know is [Unknown].
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

// Exit is how an agent's process ended.
type Exit struct {
	Code   int       `json:"code"`             // exit code, -1 if a signal ended it
	Signal string    `json:"signal,omitempty"` // "killed", "terminated", ...
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"` // why, where the place that it ran in says so
}

func (e Exit) String() string {
	text := fmt.Sprintf("exited with code %d", e.Code)
	if e.Signal != "" {
		text = "ended by signal: " + e.Signal
	}
	if e.Reason != "" {
		text += "; " + e.Reason
	}
	return text
}

// Observation is what one fresh look at a session found.
type Observation struct {
	// Session is alive if the named session exists, dead if it certainly does
	// not.
	Session Liveness `json:"session"`
	// Agent is alive if the process that the session was started for runs, by
	// owned identity and not by name.
	Agent Liveness `json:"agent"`
	// InstanceToken names the instance. It is a capability: never print it.
	InstanceToken string `json:"-"`
	// Handle is what [Recover] needs to find the session again. It may hold the
	// instance token: keep it where tokens are kept.
	Handle string `json:"-"`
	// PID and StartTime identify the agent's process; zero if unknown or remote.
	// StartTime is the kernel's own count, comparable only on one host and boot.
	PID       int    `json:"pid,omitempty"`
	StartTime uint64 `json:"start_time,omitempty"`
	// StartedAt is when this instance began.
	StartedAt time.Time `json:"started_at,omitzero"`
	// Exit is set once the agent has been seen to end.
	Exit *Exit `json:"exit,omitempty"`
	// Cause is why a session that is dead is gone, in words for people, where the driver
	// knows: as that what all its sessions shared has ended. Empty if it does not.
	Cause string `json:"cause,omitempty"`
	// Last is what the last output of an agent that has ended says of it: that the
	// model provider serves nothing for now. Nil if it says nothing of that kind.
	Last *Evidence `json:"last,omitempty"`
	// Attached counts connected terminals, -1 if the driver does not know.
	Attached int `json:"attached"`
	// LastActivity is when the agent last wrote output; zero if unknown.
	LastActivity time.Time `json:"last_activity,omitzero"`
	// LastInput is when a person last typed; zero if never or unknown.
	LastInput time.Time `json:"last_input,omitzero"`
	// Title is the terminal's title, if there is one.
	Title string `json:"title,omitempty"`
	// At is when the look was taken.
	At time.Time `json:"at"`
}

// Observer is the extension of drivers that distinguish dead from unknown.
type Observer interface {
	// Observe looks at the named session now. A session that does not exist is
	// no error but Session and Agent [Dead]. What could not be read is [Unknown]
	// and, if nothing could, an error matching [ErrRuntimeUnavailable].
	Observe(ctx context.Context, name string) (Observation, error)
}

// Observe looks at the named session. Without the extension the booleans of
// [Inspector] are used, and since they cannot prove absence, a "no" is
// [Unknown].
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
