package bridge

import (
	"encoding/json"
	"time"

	"gascity/runtime"
)

// SpecVariable is the environment variable with the [Spec] of a host as JSON. It is removed from the agent's environment.
const SpecVariable = "GC_ACP_HOST"

// ReadyPrefix is the beginning of the line that a host prints when the agent can accept prompts.
const ReadyPrefix = "acp: connected"

// Spec says how a host runs its agent. The host itself runs in the working directory of the agent.
type Spec struct {
	Command      string                    `json:"command"` // for sh -c
	Socket       string                    `json:"socket"`
	MCPServers   []runtime.MCPServerConfig `json:"mcp_servers,omitempty"`
	Handshake    time.Duration             `json:"handshake,omitempty"`    // timeout; zero means [DefaultHandshake]
	Conversation string                    `json:"conversation,omitempty"` // conversation to resume; empty means a new one
	Mode         string                    `json:"mode,omitempty"`         // mode to set; empty means the agent's default
	Auth         string                    `json:"auth,omitempty"`         // sign-in method, if the agent requires a sign-in
	Record       string                    `json:"record,omitempty"`       // path of the record of the conversation; empty means none
	Draft        bool                      `json:"draft,omitempty"`        // use the draft of version 2 if the agent supports it
}

// DefaultHandshake is the default timeout from the agent's start to its first session.
const DefaultHandshake = 30 * time.Second

// The operations that a request can ask for.
const (
	opDeliver = "deliver"
	opSettle  = "settle"
	opCancel  = "cancel"
	opRespond = "respond"
	opState   = "state"
)

// request is the first line that a caller sends on a connection.
type request struct {
	Op       string                       `json:"op"`
	Instance string                       `json:"instance"`
	ID       string                       `json:"id,omitempty"`
	Once     bool                         `json:"once,omitempty"` // for deliver: a prompt that was sent with this ID is not sent again
	Answer   *runtime.InteractionResponse `json:"answer,omitempty"`
	After    uint64                       `json:"after,omitempty"` // for state: wait for a greater Seq
}

// text is the second line of a request to deliver a prompt. The caller sends it after the reply to the first line.
type text struct {
	Text    string        `json:"text"`
	Busy    time.Duration `json:"busy"`    // longest time to wait in the queue
	Confirm time.Duration `json:"confirm"` // longest time to wait for a confirmation
}

// reply is the answer to a request. Failure is empty if the request succeeded; otherwise it is one of the constants below or a
// message for people.
type reply struct {
	Failure string           `json:"failure,omitempty"`
	Detail  string           `json:"detail,omitempty"`
	Outcome *runtime.Outcome `json:"outcome,omitempty"`
	State   *State           `json:"state,omitempty"`
}

// The failures for which the client returns an error of its own.
const (
	failStale     = "stale instance"
	failGone      = "interaction gone"
	failAnswer    = "answer cannot be given"
	failUnsettled = "turn not cancelled"
	failUnknown   = "unknown operation"
)

// State is the state of a host and its agent.
type State struct {
	Seq          uint64                      `json:"seq"` // increases with each change
	Activity     runtime.Activity            `json:"activity"`
	Detail       string                      `json:"detail,omitempty"`
	Since        time.Time                   `json:"since"`
	Pending      *runtime.PendingInteraction `json:"pending,omitempty"`
	Agent        int                         `json:"agent,omitempty"` // process ID
	Name         string                      `json:"name,omitempty"`  // name and version that the agent reported
	Conversation string                      `json:"conversation,omitempty"`
	Dir          string                      `json:"dir,omitempty"` // the agent's working directory
	Mode         string                      `json:"mode,omitempty"`
	Modes        []string                    `json:"modes,omitempty"`
	Boundary     time.Time                   `json:"boundary,omitzero"` // when the last cancelled turn ended
	Waiting      int                         `json:"waiting,omitempty"` // number of queued prompts
	Turns        int                         `json:"turns,omitempty"`   // number of turns that have ended
	Usage        json.RawMessage             `json:"usage,omitempty"`   // the last usage that the agent reported, unchanged
	Progress     runtime.Progress            `json:"progress,omitzero"`
}
