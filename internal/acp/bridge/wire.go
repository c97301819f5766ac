package bridge

import (
	"encoding/json"
	"time"

	"gascity/runtime"
)

// SpecVariable holds the [Spec] of a host as JSON. The agent does not get it.
const SpecVariable = "GC_ACP_HOST"

// tokenVariable holds the token of the instance; calls for another are refused.
const tokenVariable = "GC_INSTANCE_TOKEN"

// ReadyPrefix begins the line that a host prints when the agent can take prompts.
const ReadyPrefix = "acp: connected"

// Spec is what a host is to run. It works in its own working folder.
type Spec struct {
	Command      string                    `json:"command"` // for sh -c
	Socket       string                    `json:"socket"`
	MCPServers   []runtime.MCPServerConfig `json:"mcp_servers,omitempty"`
	Handshake    time.Duration             `json:"handshake,omitempty"`    // bound; zero is [DefaultHandshake]
	Conversation string                    `json:"conversation,omitempty"` // to go on with; empty begins one
	Mode         string                    `json:"mode,omitempty"`         // to work in; empty is the agent's own
	Auth         string                    `json:"auth,omitempty"`         // method to sign in with, if the agent asks for it
	Draft        bool                      `json:"draft,omitempty"`        // the draft of version 2 is spoken with an agent that knows it
}

// DefaultHandshake bounds the time from the agent's start to its first session.
const DefaultHandshake = 30 * time.Second

// The operations of the wire.
const (
	opDeliver = "deliver"
	opSettle  = "settle"
	opCancel  = "cancel"
	opRespond = "respond"
	opMode    = "mode"
	opState   = "state"
)

// request is the first line of a connection.
type request struct {
	Op       string                       `json:"op"`
	Instance string                       `json:"instance"`
	ID       string                       `json:"id,omitempty"`
	Once     bool                         `json:"once,omitempty"` // of deliver: what was sent under this ID is not sent again
	Answer   *runtime.InteractionResponse `json:"answer,omitempty"`
	Mode     string                       `json:"mode,omitempty"`
	After    uint64                       `json:"after,omitempty"` // of state: wait for a later one
}

// text is the second line of a delivery, after the answer to its announcement.
type text struct {
	Text    string        `json:"text"`
	Busy    time.Duration `json:"busy"`    // how long it may wait for its turn
	Confirm time.Duration `json:"confirm"` // how long a sign is waited for
}

// reply is an answer. Failure is one of the words below, or another text for people.
type reply struct {
	Failure string           `json:"failure,omitempty"`
	Detail  string           `json:"detail,omitempty"`
	Outcome *runtime.Outcome `json:"outcome,omitempty"`
	State   *State           `json:"state,omitempty"`
}

// The failures that have a meaning to programs.
const (
	failStale     = "stale instance"
	failGone      = "interaction gone"
	failAnswer    = "answer cannot be given"
	failUnsettled = "turn not cancelled"
	failUnknown   = "unknown operation"
)

// State is what a host knows.
type State struct {
	Seq          uint64                      `json:"seq"` // greater with each change
	Activity     runtime.Activity            `json:"activity"`
	Detail       string                      `json:"detail,omitempty"`
	Since        time.Time                   `json:"since"`
	Pending      *runtime.PendingInteraction `json:"pending,omitempty"`
	Agent        int                         `json:"agent,omitempty"` // process number
	Name         string                      `json:"name,omitempty"`  // the agent's, by its own word, with its version
	Conversation string                      `json:"conversation,omitempty"`
	Dir          string                      `json:"dir,omitempty"` // where the agent works
	Mode         string                      `json:"mode,omitempty"`
	Modes        []string                    `json:"modes,omitempty"`
	Boundary     time.Time                   `json:"boundary,omitzero"` // when a cancelled turn last ended
	Waiting      int                         `json:"waiting,omitempty"` // prompts in line
	Turns        int                         `json:"turns,omitempty"`   // that have ended
	Usage        json.RawMessage             `json:"usage,omitempty"`   // the agent's last word of it, as it was
	Progress     runtime.Progress            `json:"progress,omitzero"`
}
