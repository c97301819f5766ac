package session

import "time"

// Pending is a question or permission that blocks a session, from when it was first observed until
// it ended.
type Pending struct {
	ID       string   `json:"id"` // assigned by the city; cannot be guessed
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
	NoText   bool     `json:"no_text,omitempty"`   // it cannot be answered with a text
	Suggest  string   `json:"suggested,omitempty"` // the label of a harmless option
	Guard    bool     `json:"guard,omitempty"`     // the guard asks, before a tool call
	Dir      string   `json:"dir,omitempty"`       // the directory of the tool call; empty: unknown

	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"` // when the agent stops waiting; zero: unknown
	Deadline  time.Time `json:"deadline,omitzero"`
	Policy    string    `json:"policy"`
	Default   string    `json:"default,omitempty"`
	Escalated time.Time `json:"escalated,omitzero"` // when the alert after the deadline was sent
	Notified  time.Time `json:"notified,omitzero"`  // when the first alert was sent

	State      string    `json:"state"` // one of the states of client.Pending
	Answer     string    `json:"answer,omitempty"`
	AnsweredBy string    `json:"answered_by,omitempty"` // if the question is still open: an answer is being sent
	Sent       time.Time `json:"sent,omitzero"`         // when the answer was delivered; zero: not delivered, or unknown
	EndedAt    time.Time `json:"ended_at,omitzero"`
}

// Keys of the metadata of a question that gc's guard asks.
const (
	MetaGuard = "guard" // "yes"
	MetaDir   = "dir"   // the directory of the tool call
)

// Wait is a registered condition. When it ends, a prompt notifies its owner.
type Wait struct {
	ID                string    `json:"id"`
	Target            string    `json:"target,omitempty"`
	Session           string    `json:"session,omitempty"`  // the target's session at registration
	Instance          string    `json:"instance,omitempty"` // the target's instance at registration
	For               string    `json:"for"`                // one of the conditions of client.Wait
	Arg               string    `json:"arg,omitempty"`
	Owner             string    `json:"owner,omitempty"`
	OwnerInstance     string    `json:"owner_instance,omitempty"`     // public; the instance to notify. Empty: the next instance
	OwnerConversation string    `json:"owner_conversation,omitempty"` // a later instance that resumed it is notified too
	Text              string    `json:"text,omitempty"`
	CreatedAt         time.Time `json:"created_at"`
	Deadline          time.Time `json:"deadline"`

	State    string    `json:"state"` // one of the states of client.Wait
	Reason   string    `json:"reason,omitempty"`
	Receipt  string    `json:"receipt,omitempty"`
	Notified bool      `json:"told,omitempty"` // the owner was notified of the end, or need not be
	EndedAt  time.Time `json:"ended_at,omitzero"`
}
