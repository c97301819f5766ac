package bridge

import (
	"encoding/json"
	"time"

	"gascity/runtime"
)

// SpecVariable is the environment variable with the [Spec] of a host as JSON. It is removed from the agent's environment.
const SpecVariable = "GC_ACP_HOST"

// tokenVariable is the environment variable with the instance token. Requests with another token are refused.
const tokenVariable = "GC_INSTANCE_TOKEN"

// ReadyPrefix is the beginning of the line that a host prints when the agent can accept prompts.
const ReadyPrefix = "acp: connected"

// Spec describes what a host runs. The host runs it in its own working directory.
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

// The operations of the host's socket.
const (
	opDeliver = "deliver"
	opSettle  = "settle"
	opCancel  = "cancel"
	opRespond = "respond"
	opState   = "state"
)

// request is the first line of a connection.
type request struct {
	Op       string                       `json:"op"`
	Instance string                       `json:"instance"`
	ID       string                       `json:"id,omitempty"`
	Once     bool                         `json:"once,omitempty"` // for deliver: a prompt that was sent with this ID is not sent again
	Answer   *runtime.InteractionResponse `json:"answer,omitempty"`
	After    uint64                       `json:"after,omitempty"` // for state: wait for a greater Seq
}

// text is the second line of a delivery. It is sent after the announcement was answered.
type text struct {
	Text    string        `json:"text"`
	Busy    time.Duration `json:"busy"`    // longest time to wait in the queue
	Confirm time.Duration `json:"confirm"` // longest time to wait for a confirmation
}

// reply is the answer to a request. Failure is one of the constants below or a message for people; empty means success.
type reply struct {
	Failure string           `json:"failure,omitempty"`
	Detail  string           `json:"detail,omitempty"`
	Outcome *runtime.Outcome `json:"outcome,omitempty"`
	State   *State           `json:"state,omitempty"`
}

// The failures that programs distinguish.
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
