// Package notification has the rules for notifications about agents: which event and which state lead to which message for
// which sink, and when. It has no effects. The engine in internal/service/notify reads the events and sends the messages.
//
// # Data flow
//
// [State.Fold] turns the events of a city into a list of open subjects: what a person may have to know. [Plan] compares the
// subjects with the rules and returns what is due now, and when something is due next. Each result becomes a [Delivery], which
// the [Store] saves before the first request and again after its confirmation.
package notification

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"time"
)

// Kind is the kind of a subject.
type Kind string

// The kinds for which an agent needs a person.
const (
	Question   Kind = "question"
	Permission Kind = "permission"
	Login      Kind = "login"
	Limit      Kind = "limit"      // a usage limit of the model provider
	Input      Kind = "input"      // a blocked input box, or a stalled agent
	Overdue    Kind = "overdue"    // a question was not answered by its deadline
	Quarantine Kind = "quarantine" // the agent failed too often
	Budget     Kind = "budget"     // a budget holds, interrupts or stops agents
)

// The kinds for which an agent has finished or failed.
const (
	Turn   Kind = "turn"   // a long turn is over
	Exit   Kind = "exit"   // the agent exited by itself, or its session disappeared
	Prompt Kind = "prompt" // a prompt can never be delivered
)

// Group is a name for several kinds.
type Group string

// The groups.
const (
	NeedsMe  Group = "needs_me"
	Finished Group = "finished"
)

// Kinds returns the kinds of the group; nil for an unknown group.
func (g Group) Kinds() []Kind {
	switch g {
	case NeedsMe:
		return []Kind{Question, Permission, Login, Limit, Input, Overdue, Quarantine, Budget}
	case Finished:
		return []Kind{Turn, Exit, Prompt}
	}
	return nil
}

// Group returns the group of the kind.
func (k Kind) Group() Group {
	switch k {
	case Turn, Exit, Prompt:
		return Finished
	default:
		return NeedsMe
	}
}

// Subject is something that a person may have to know. A subject of [NeedsMe] is open until the agent does not need a person
// any more. A subject of [Finished] is open until it is planned for every sink.
type Subject struct {
	ID       string        `json:"id"` // the same for the same subject, also after a restart
	Kind     Kind          `json:"kind"`
	Agent    string        `json:"agent,omitempty"`
	Session  string        `json:"session,omitempty"`
	Question string        `json:"question,omitempty"` // the id of a pending question
	Text     string        `json:"text"`               // one line for people
	Since    time.Time     `json:"since"`
	Took     time.Duration `json:"took,omitempty"` // the length of a turn
	Name     string        `json:"name,omitempty"` // the budget
	Until    time.Time     `json:"until,omitzero"` // of a budget: when its limit no longer applies if nothing more is used; zero: never, or that is not known
}

// State is what the engine has read from the event log.
type State struct {
	Cursor uint64               `json:"cursor"` // the last event that was read
	Sinks  map[string]time.Time `json:"sinks"`  // by target: when it was configured; it gets no earlier subject
	Open   []Subject            `json:"open,omitempty"`
	Turns  map[string]time.Time `json:"turns,omitempty"` // by session: when its turn began
}

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery. Only the first is not final.
const (
	Sending DeliveryState = "sending" // saved before the first request; the request may have been sent
	Sent    DeliveryState = "sent"    // the sink has confirmed it
	Failed  DeliveryState = "failed"  // the sink refused it, or did not accept it in time
	Dropped DeliveryState = "dropped" // not needed any more, or its sink was removed, before the sink confirmed it
)

// Delivery is one subject for one device of one sink. The three identify it.
type Delivery struct {
	Subject Subject `json:"subject"`
	Sink    string  `json:"sink"`
	Device  string  `json:"device,omitempty"` // empty: the sink has no devices

	ID string `json:"id"`
	// Message is the id of the message that contains the subject. It is sent with each request, so that a repeated request
	// can be recognized. Several subjects may be in one message.
	Message string        `json:"message"`
	State   DeliveryState `json:"state"`
	Tries   int           `json:"tries,omitempty"`
	Error   string        `json:"error,omitempty"` // why the last try failed, or why it was dropped
	Created time.Time     `json:"created"`
	Updated time.Time     `json:"updated"`
}

// Final reports whether gc makes no further attempt to send the notification to this sink.
func (d *Delivery) Final() bool { return d.State != Sending }

// Key identifies a delivery.
type Key struct{ Subject, Sink, Device string }

// Key returns the key of the delivery.
func (d *Delivery) Key() Key { return Key{d.Subject.ID, d.Sink, d.Device} }

// Target returns where the delivery goes.
func (d *Delivery) Target() Target { return Target{d.Sink, d.Device} }

// ID returns the id of a delivery in a city. It is always the same for the same city and key.
func (k Key) ID(city string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{city, k.Subject, k.Sink, k.Device}, "\x00")))
	return "n-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}
