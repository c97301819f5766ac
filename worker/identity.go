package worker

import "time"

// Identity is the body of POST /identity, and the data of an "identity" message.
type Identity struct {
	RunID       string            `json:"run_id"`
	Role        string            `json:"role,omitempty"`
	Rig         string            `json:"rig,omitempty"`
	AgentName   string            `json:"agent_name,omitempty"`
	SessionID   string            `json:"session_id,omitempty"`
	Credentials *Credentials      `json:"credentials,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	// Token is the run's new token for this API. Only the city sets it. The worker must use it from
	// now on and acknowledge that. [Client] does this itself.
	Token Secret `json:"token,omitempty"`
}

// Credentials are the agent's credentials for its model. Both sides keep them in memory only and
// never store or log them.
type Credentials struct {
	Type      string     `json:"type"` // "api_key", "oauth" or "token"
	Value     Secret     `json:"value"`
	Account   string     `json:"account,omitempty"` // name of the account, for people
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Secret is a value that is formatted as stars. In JSON it is unchanged.
type Secret string

// String returns stars.
func (Secret) String() string { return "***" }

// GoString returns stars.
func (Secret) GoString() string { return "***" }

// IdentityAnswer is the answer to POST /identity.
type IdentityAnswer struct {
	Accepted bool   `json:"accepted"`
	ID       string `json:"id,omitempty"` // id of the message to the worker; empty if no worker can apply it
}
