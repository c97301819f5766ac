package worker

import "encoding/json"

// Call is the body of POST /authorize: a tool that the agent wants to use.
type Call struct {
	RunID string          `json:"run_id"`
	ID    string          `json:"id,omitempty"` // the model provider's name of the call; telemetry refers to it
	Tool  string          `json:"tool"`         // "Bash", "Write", ...
	Input json.RawMessage `json:"input,omitempty"`
	// Context is what the caller says of the agent: "role", "rig", "bead_id",
	// "cwd". The city decides by what it knows itself where the two differ.
	Context map[string]string `json:"context,omitempty"`
	// Wait is how long the caller waits if a person has to be asked; the city waits no
	// longer, and denies then. Zero is the city's own limit.
	Wait Seconds `json:"wait_seconds,omitempty"`
	// Allowance asks for a [Allowance] with the answer.
	Allowance bool `json:"allowance,omitempty"`
	// Ask says that the agent's own rules want a person to be asked: the city asks one,
	// unless a rule of its own decides.
	Ask bool `json:"ask,omitempty"`
	// Partial says that the agent uses tools, too, that the caller does not hear of: that
	// it asks does not show that the agent is guarded.
	Partial bool `json:"partial,omitempty"`
}

// Effect is what an authorization came to.
type Effect string

// The effects. A word that is not known is [Deny].
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Decision is the answer to POST /authorize. Allowed alone decides.
type Decision struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"` // for the agent and for people
	Effect  Effect `json:"effect,omitempty"`
	Rule    string `json:"rule,omitempty"` // the id of the rule that decided
	// Interaction is the id of the question to a person that decided.
	Interaction string `json:"interaction,omitempty"`
	// Allowance is what may be decided without the city, if the call asked for it.
	Allowance *Allowance `json:"allowance,omitempty"`
}

// Canary is the tool that is asked for when a session starts, to prove that the
// agent's hook is live. It is always denied, and reaching the city is what counts.
const Canary = "gc.canary"
