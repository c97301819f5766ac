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
	PendingAnswered = "answered" // answered through the city, by AnsweredBy
	PendingResolved = "resolved" // ended elsewhere: at the terminal, or the agent continued by itself
	PendingExpired  = "expired"  // the deadline was reached and the policy was applied
	PendingGone     = "gone"     // the instance that asked has stopped
)

// PendingInputBlocked is the kind of a question that gc itself asks: the input box of the agent is
// blocked, see Agent.InputBlocked. Its option clears the input box.
const PendingInputBlocked = "input_blocked"

// PendingStalled is the kind of a question that gc itself asks: the agent is stalled, see
// Agent.StalledSince. Its options are to wait longer, to interrupt the turn and to restart the
// agent.
const PendingStalled = "stalled"

// Pending is a question or permission that blocks an agent.
type Pending struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Session   string    `json:"session"`
	Instance  string    `json:"instance"`
	Kind      string    `json:"kind"`   // permission, question, menu, login, limit, input_blocked, stalled
	Prompt    string    `json:"prompt"` // the exact text of the question
	Options   []string  `json:"options,omitempty"`
	Tool      string    `json:"tool,omitempty"`
	Input     string    `json:"input,omitempty"`
	Source    string    `json:"source"`              // the source that reported it
	Why       string    `json:"why,omitempty"`       // why only a person may answer
	NoText    bool      `json:"no_text,omitempty"`   // only an option can answer it; without options, only a person at the terminal
	Suggested string    `json:"suggested,omitempty"` // a harmless option with which the agent continues
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"`     // when the agent stops waiting for an answer; zero if unknown
	Deadline  time.Time `json:"deadline,omitzero"`  // when the policy is applied; zero means never
	Policy    string    `json:"policy"`             // what happens at the deadline: wait, deny, answer, escalate
	Default   string    `json:"default,omitempty"`  // answer of the policy "answer"
	Escalated time.Time `json:"escalated,omitzero"` // when people were notified again because no answer had arrived by the deadline

	// Guard is how the guard reads the tool call that the question is about. Nil if the question is
	// about none, and after the question has ended.
	Guard *GuardReading `json:"guard,omitempty"`

	State      string    `json:"state"`
	Answer     string    `json:"answer,omitempty"`
	AnsweredBy string    `json:"answered_by,omitempty"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
}

// GuardReading is how the guard reads a tool call: what the call does, and what the rules of the city
// say now.
type GuardReading struct {
	Does   []string      `json:"does"`           // what the call would do, one line for each program and file
	Action string        `json:"action"`         // allow, ask or deny
	Rule   string        `json:"rule,omitempty"` // the rule that decides; empty: none matches
	Reason string        `json:"reason"`         // the decision in a sentence
	Parts  []GuardEffect `json:"parts"`          // the decision on each program and file
	// Always is the rule that would allow the call from now on, see [Client.AllowAlways]. Nil: there
	// is none, and NoAlways says why.
	Always   *GuardRule `json:"always,omitempty"`
	NoAlways string     `json:"no_always,omitempty"`
}

// GuardEffect is the decision of the guard on one program that a call runs, or one file that it uses.
type GuardEffect struct {
	Text   string `json:"text"`           // in plain words
	Action string `json:"action"`         // allow, ask or deny; empty: it needs no decision of its own
	Rule   string `json:"rule,omitempty"` // the rule that decides; empty: none matches
}

// GuardRule is a rule of the guard that would be written to city.toml.
type GuardRule struct {
	ID     string `json:"id"`     // it depends on the agent, the tool and the call alone
	Agent  string `json:"agent"`  // for which the rule is
	Tool   string `json:"tool"`   // that the rule is about
	Exact  string `json:"exact"`  // the command or file that the rule allows, exactly
	Action string `json:"action"` // allow
	File   string `json:"file"`   // to which the rule is added
	Text   string `json:"text"`   // of the rule, as TOML
}

// AlwaysRequest confirms a rule. Rule is the ID of the rule that was shown.
type AlwaysRequest struct {
	Rule string `json:"rule"`
	By   string `json:"by,omitempty"` // who answers, as text for people
}

// RespondRequest is an answer to a question: the label or number of an option, or a text. Exactly
// one of the two is set.
type RespondRequest struct {
	Option string `json:"option,omitempty"`
	Text   string `json:"text,omitempty"`
	By     string `json:"by,omitempty"` // who answers, as text for people
}

// Pending returns the questions that wait for a person, oldest first. If name is not empty, it
// returns those of one target.
func (c *Client) Pending(ctx context.Context, name string, which Which) ([]Pending, error) {
	return call[[]Pending](ctx, c, http.MethodGet, "/v1/pending"+query(map[string]string{"target": name, "which": string(which)}), nil)
}

// Respond answers a question once. If the question is not open any more, the error is [ErrRefused].
// Respond returns when the session has been read again, with the new state of the question.
func (c *Client) Respond(ctx context.Context, id string, req RespondRequest) (Pending, error) {
	return call[Pending](ctx, c, http.MethodPost, "/v1/pending/"+url.PathEscape(id)+"/respond", req)
}

// AllowAlways adds the rule of a question, see [GuardReading], to city.toml, and answers the question
// once with "Allow once". If the question has another rule now, or none, the error is [ErrRefused]
// and nothing is written. If only the answer fails, the rule stays, and the error says so.
func (c *Client) AllowAlways(ctx context.Context, id string, req AlwaysRequest) (Pending, error) {
	return call[Pending](ctx, c, http.MethodPost, "/v1/pending/"+url.PathEscape(id)+"/always", req)
}
