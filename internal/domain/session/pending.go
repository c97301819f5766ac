package session

import "time"

// Pending is a question or permission that blocks a session: one episode, from
// its first sight to its end.
type Pending struct {
	ID       string   `json:"id"` // unguessable, of the city
	Request  string   `json:"request"`
	Session  string   `json:"session"`
	Agent    string   `json:"agent"`
	Instance string   `json:"instance"` // public; the instance that asks
	Kind     string   `json:"kind"`
	Prompt   string   `json:"prompt"`
	Options  []string `json:"options,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Input    string   `json:"input,omitempty"`
	Source   string   `json:"source"`
	Why      string   `json:"why,omitempty"`
	NoText   bool     `json:"no_text,omitempty"`   // words cannot answer it
	Suggest  string   `json:"suggested,omitempty"` // the label of a harmless option

	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"` // the agent stops waiting; zero: not known
	Deadline  time.Time `json:"deadline,omitzero"`
	Policy    string    `json:"policy"`
	Default   string    `json:"default,omitempty"`
	Escalated time.Time `json:"escalated,omitzero"` // when the deadline's alert went out
	Notified  time.Time `json:"notified,omitzero"`  // when the first alert went out

	State      string    `json:"state"` // a client.Pending word
	Answer     string    `json:"answer,omitempty"`
	AnsweredBy string    `json:"answered_by,omitempty"` // set while open: an answer is on its way
	Sent       time.Time `json:"sent,omitzero"`         // when the answer was handed over; zero: it is not known to have been
	EndedAt    time.Time `json:"ended_at,omitzero"`
}

// Wait is a registered condition, whose end is reported to its owner by a
// prompt.
type Wait struct {
	ID                string    `json:"id"`
	Target            string    `json:"target,omitempty"`
	Session           string    `json:"session,omitempty"`  // the target's, when it was registered
	Instance          string    `json:"instance,omitempty"` // the target's instance then
	For               string    `json:"for"`                // a client.Wait word
	Arg               string    `json:"arg,omitempty"`
	Owner             string    `json:"owner,omitempty"`
	OwnerInstance     string    `json:"owner_instance,omitempty"`     // public; the instance to notify. Empty: the next instance
	OwnerConversation string    `json:"owner_conversation,omitempty"` // a successor that resumed it is notified too
	Text              string    `json:"text,omitempty"`
	CreatedAt         time.Time `json:"created_at"`
	Deadline          time.Time `json:"deadline"`

	State    string    `json:"state"` // a client.Wait state
	Reason   string    `json:"reason,omitempty"`
	Receipt  string    `json:"receipt,omitempty"`
	Notified bool      `json:"told,omitempty"` // the owner has been notified of the end, or is not to be
	EndedAt  time.Time `json:"ended_at,omitzero"`
}
