package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// The states of a pending question.
const (
	PendingOpen     = "open"
	PendingAnswered = "answered" // through the city, by AnsweredBy
	PendingResolved = "resolved" // elsewhere: at the terminal, or the agent went on by itself
	PendingExpired  = "expired"  // its deadline came, and the policy was carried out
	PendingGone     = "gone"     // the instance that asked is over
)

// PendingInputBlocked is the kind of a pending question that gc itself raises: the agent is
// input blocked, see Agent.InputBlocked. Its option clears the input box.
const PendingInputBlocked = "input_blocked"

// PendingStalled is the kind of a pending question that gc itself raises: the agent is
// stalled, see Agent.StalledSince. Its options are to wait longer, to interrupt the turn and to
// restart the agent.
const PendingStalled = "stalled"

// Pending is a question or permission that blocks an agent.
type Pending struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Session   string    `json:"session"`
	Instance  string    `json:"instance"`
	Kind      string    `json:"kind"`   // permission, question, menu, login, limit, input_blocked, stalled
	Prompt    string    `json:"prompt"` // what is asked, as it stands there
	Options   []string  `json:"options,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	Input     string    `json:"input,omitempty"`
	Source    string    `json:"source"`              // the source that reported it
	Why       string    `json:"why,omitempty"`       // why nothing but a person may answer
	NoText    bool      `json:"no_text,omitempty"`   // only an option answers it; without options, only its terminal
	Suggested string    `json:"suggested,omitempty"` // an option that does no harm and lets the agent go on
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"`     // when the agent stops waiting for an answer; zero: not known
	Deadline  time.Time `json:"deadline,omitzero"`  // when the policy acts; zero: it waits
	Policy    string    `json:"policy"`             // what happens then: wait, deny, answer, escalate
	Default   string    `json:"default,omitempty"`  // the answer of the policy
	Escalated time.Time `json:"escalated,omitzero"` // when no answer had arrived by the deadline, and people were notified again

	State      string    `json:"state"`
	Answer     string    `json:"answer,omitempty"`
	AnsweredBy string    `json:"answered_by,omitempty"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
}

// RespondRequest answers a pending question: by an option's label or number,
// or by words. One of the two is given.
type RespondRequest struct {
	Option string `json:"option,omitempty"`
	Text   string `json:"text,omitempty"`
	By     string `json:"by,omitempty"` // who answers, for people
}

// Pending lists what waits for a person, oldest first; of one target if name is
// not empty.
func (c *Client) Pending(ctx context.Context, name string, which Which) ([]Pending, error) {
	values := url.Values{}
	if name != "" {
		values.Set("target", name)
	}
	if which != OnlyOpen {
		values.Set("which", string(which))
	}
	return call[[]Pending](ctx, c, http.MethodGet, "/v1/pending?"+values.Encode(), nil)
}

// Respond answers a pending question, once: one that is not open any more is
// [ErrRefused]. It returns when the session has been read again, with the state
// of the question.
func (c *Client) Respond(ctx context.Context, id string, req RespondRequest) (Pending, error) {
	return call[Pending](ctx, c, http.MethodPost, "/v1/pending/"+url.PathEscape(id)+"/respond", req)
}
