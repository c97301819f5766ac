package worker

import "encoding/json"

// Call is the body of POST /authorize: a tool call that the agent wants to make.
type Call struct {
	RunID string          `json:"run_id"`
	ID    string          `json:"id,omitempty"` // the model provider's id of the call; telemetry refers to it
	Tool  string          `json:"tool"`         // "Bash", "Write", ...
	Input json.RawMessage `json:"input,omitempty"`
	// Context is what the caller reports about the agent: "role", "rig", "bead_id", "cwd". Where
	// the city has its own information, that counts instead.
	Context map[string]string `json:"context,omitempty"`
	// Wait is how long the caller waits if a person must be asked. The city waits no longer, and
	// then denies. Zero means the city's own limit.
	Wait Seconds `json:"wait_seconds,omitempty"`
	// Allowance requests an [Allowance] with the answer.
	Allowance bool `json:"allowance,omitempty"`
	// Ask reports that the agent's own rules require a question to a person: the city asks one,
	// unless a rule of its own decides.
	Ask bool `json:"ask,omitempty"`
	// Partial reports that the agent also uses tools without a call of this API. Then the call does
	// not show that the agent is guarded.
	Partial bool `json:"partial,omitempty"`
}

// Effect is the result of an authorization.
type Effect string

// The effects. Any other value means [Deny].
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// Decision is the answer to POST /authorize. Only Allowed decides.
type Decision struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"` // for the agent and for people
	Effect  Effect `json:"effect,omitempty"`
	Rule    string `json:"rule,omitempty"` // the id of the rule that decided
	// Interaction is the id of the question to a person that decided.
	Interaction string `json:"interaction,omitempty"`
	// Allowance lists what the worker may decide without the city, if the call requested it.
	Allowance *Allowance `json:"allowance,omitempty"`
}

// Canary is the name of the tool with which a worker tests the agent's hook when a session starts.
// The call is always denied. The test succeeds if the call reaches the city.
const Canary = "gc.canary"
