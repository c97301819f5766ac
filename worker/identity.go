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
	// Token is the run's new token for this API, from the city alone: the worker uses it
	// from now on, and acknowledges when it does. [Client] uses it by itself.
	Token Secret `json:"token,omitempty"`
}

// Credentials are what the agent shows to its model. They are in memory only: no
// side stores or logs them.
type Credentials struct {
	Type      string     `json:"type"` // "api_key", "oauth" or "token"
	Value     Secret     `json:"value"`
	Account   string     `json:"account,omitempty"` // whose they are, for people
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Secret is a value that formats as stars. It goes over the wire as it is.
type Secret string

// String returns stars.
func (Secret) String() string { return "***" }

// GoString returns stars.
func (Secret) GoString() string { return "***" }

// IdentityAnswer is the answer to POST /identity.
type IdentityAnswer struct {
	Accepted bool   `json:"accepted"`
	ID       string `json:"id,omitempty"` // of the message to the worker; empty if it has none to apply it
}
