package client

import (
	"context"
	"net/http"
	"time"
)

// GuardCheckRequest is a tool call that is not made: what would the guard decide? Exactly one of
// Command and Tool is required.
type GuardCheckRequest struct {
	Command string `json:"command,omitempty"` // a shell script
	Tool    string `json:"tool,omitempty"`
	Input   string `json:"input,omitempty"` // the input of Tool, as JSON
	Agent   string `json:"agent,omitempty"` // the call is made by this agent
	Role    string `json:"role,omitempty"`  // the role of the caller; empty: that of Agent
	Dir     string `json:"dir,omitempty"`   // absolute working directory; empty: that of Agent, else the city directory
}

// Check returns [ErrInvalid] if the request can never succeed without a change.
func (r GuardCheckRequest) Check() error {
	switch {
	case (r.Command == "") == (r.Tool == ""):
		return invalid("a check needs either a command or a tool")
	case r.Input != "" && r.Tool == "":
		return invalid("an input needs a tool")
	}
	return nil
}

// GuardCheck is what the guard decides about a tool call. `gc guard check` prints it.
type GuardCheck struct {
	GuardVerdict

	Guarded bool        `json:"guarded"` // city.toml has a [guard]; without one everything is allowed
	Role    string      `json:"role,omitempty"`
	Agent   string      `json:"agent,omitempty"`
	Parts   []GuardPart `json:"parts"` // the programs that the call would start, and the files that it names
}

// GuardVerdict is a decision of the guard.
type GuardVerdict struct {
	Action string `json:"action"`           // allow, ask, deny
	Rule   string `json:"rule,omitempty"`   // the id of the rule that decided; empty: the default
	Reason string `json:"reason,omitempty"` // for the agent and for people
	Part   string `json:"part,omitempty"`   // the command or file that decided; empty: the tool itself
}

// GuardPart is the decision about one part of a tool call.
type GuardPart struct {
	GuardVerdict

	Via        []string `json:"via,omitempty"`        // the programs that run the part, outermost first
	Incidental bool     `json:"incidental,omitempty"` // the part needs no permission of its own
}

// CheckTool returns what the guard of the running city would decide about a tool call. Nothing is
// run and nothing is recorded. For an unknown agent the error is [ErrNotFound].
func (c *Client) CheckTool(ctx context.Context, req GuardCheckRequest) (GuardCheck, error) {
	return call[GuardCheck](ctx, c, http.MethodPost, "/v1/guard/check", req)
}

// GuardDecision is a decision about a tool call that an agent made.
type GuardDecision struct {
	GuardVerdict

	At      time.Time `json:"at"`
	Agent   string    `json:"agent"`
	Session string    `json:"session,omitempty"`
	Role    string    `json:"role,omitempty"`
	Dir     string    `json:"dir,omitempty"` // the directory in which the agent made the call
	Tool    string    `json:"tool"`
	Input   string    `json:"input,omitempty"` // as JSON, without the values of credentials
	Cut     bool      `json:"cut,omitempty"`   // the input was too long to be recorded
}

// GuardDecisions is a page of decisions, newest first.
type GuardDecisions struct {
	Guarded   bool            `json:"guarded"` // city.toml has a [guard]; without one nothing is recorded
	Decisions []GuardDecision `json:"decisions"`
	Next      string          `json:"next,omitempty"` // Before of the next page; empty: there is none
}

// MaxGuardPage is the largest number of decisions in a page.
const MaxGuardPage = 500

// GuardQuery selects decisions.
type GuardQuery struct {
	Agent  string // only of this agent
	Action string // only with this action: allow, ask or deny
	Before string // [GuardDecisions].Next of the previous page; empty: the newest
	Limit  int    // up to [MaxGuardPage]; zero means 100
}

// GuardDecisions returns the recorded decisions of the guard, newest first. They are kept up to a
// total size of 32 MiB.
func (c *Client) GuardDecisions(ctx context.Context, q GuardQuery) (GuardDecisions, error) {
	parameters := query(map[string]string{"agent": q.Agent, "action": q.Action, "before": q.Before, "limit": count(q.Limit)})
	return call[GuardDecisions](ctx, c, http.MethodGet, "/v1/guard/decisions"+parameters, nil)
}
