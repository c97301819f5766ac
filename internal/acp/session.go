package acp

import "encoding/json"

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// InitializeParams begin a connection.
type InitializeParams struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         Implementation     `json:"clientInfo"`
	Info               *Implementation    `json:"info,omitempty"` // of the draft, beside what an agent of version 1 reads
}

// ClientCapabilities are what a client serves.
type ClientCapabilities struct {
	FS       FSCapabilities `json:"fs"`
	Terminal bool           `json:"terminal"`
}

// FSCapabilities are the file methods that a client serves.
type FSCapabilities struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

// InitializeResult is the agent's answer. A version other than the one that was asked for is
// one that the agent speaks instead.
type InitializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AgentInfo         *Implementation   `json:"agentInfo"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
	Info              *Implementation   `json:"info"` // of the draft
}

// About names the agent; nil if it does not.
func (r InitializeResult) About() *Implementation {
	if r.Info != nil {
		return r.Info
	}
	return r.AgentInfo
}

// AgentCapabilities are what an agent can do.
type AgentCapabilities struct {
	LoadSession         bool            `json:"loadSession"`
	MCP                 MCPCapabilities `json:"mcpCapabilities"`
	SessionCapabilities struct {
		Resume json.RawMessage `json:"resume"`
	} `json:"sessionCapabilities"`
}

// Resumes reports whether the agent can go on with a session without replaying it.
func (a AgentCapabilities) Resumes() bool { return !isNull(a.SessionCapabilities.Resume) }

// MCPCapabilities are the transports of MCP servers that an agent knows beside stdio.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// AuthMethod is one way to sign in.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// UnmarshalJSON reads one of either version.
func (a *AuthMethod) UnmarshalJSON(raw []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	*a = AuthMethod{}
	if read(m["methodId"], &a.ID); a.ID == "" {
		read(m["id"], &a.ID)
	}
	read(m["name"], &a.Name)
	read(m["description"], &a.Description)
	return nil
}

// AuthenticateParams choose one.
type AuthenticateParams struct {
	MethodID string `json:"methodId"`
}

// MCPServer is a server that the agent is to connect to: of stdio without a Type, in the draft
// with that Type, with Command, Args and Env; of "http" and "sse" with URL and Headers. The lists
// of its kind must not be nil.
type MCPServer struct {
	Type    string
	Name    string
	Command string
	Args    []string
	Env     []Variable
	URL     string
	Headers []Variable
}

// TypeStdio is the type of a server that the agent runs, where the type is
// sent.
const TypeStdio = "stdio"

// MarshalJSON writes only the members of its kind.
func (s MCPServer) MarshalJSON() ([]byte, error) {
	if s.Type == "" || s.Type == TypeStdio {
		return json.Marshal(struct {
			Type    string     `json:"type,omitempty"`
			Name    string     `json:"name"`
			Command string     `json:"command"`
			Args    []string   `json:"args"`
			Env     []Variable `json:"env"`
		}{s.Type, s.Name, s.Command, s.Args, s.Env})
	}
	return json.Marshal(struct {
		Type    string     `json:"type"`
		Name    string     `json:"name"`
		URL     string     `json:"url"`
		Headers []Variable `json:"headers"`
	}{s.Type, s.Name, s.URL, s.Headers})
}

// Variable is a name with a value.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SessionParams open a session; SessionID names one to load or resume. MCPServers
// must not be nil.
type SessionParams struct {
	SessionID  string      `json:"sessionId,omitempty"`
	Cwd        string      `json:"cwd"`
	MCPServers []MCPServer `json:"mcpServers"`
}

// SessionResult is the answer to it. A loaded session keeps its id.
type SessionResult struct {
	SessionID string `json:"sessionId"`
	Modes     *Modes `json:"modes"`
	Models    *struct {
		Current string `json:"currentModelId"`
	} `json:"models"`
	Options Options `json:"configOptions"`
}

// Modes are the ways that an agent can work in.
type Modes struct {
	Current   string `json:"currentModeId"`
	Available []Mode `json:"availableModes"`
}

// Mode is one of them.
type Mode struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// SetModeParams change it.
type SetModeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

// SetOptionParams change a selectable option of a session, in the draft.
type SetOptionParams struct {
	SessionID string `json:"sessionId"`
	ConfigID  string `json:"configId"`
	Type      string `json:"type"`
	Value     string `json:"value"`
}

// Selection returns the choice of a value of an option.
func Selection(session, option, value string) SetOptionParams {
	return SetOptionParams{SessionID: session, ConfigID: option, Type: "id", Value: value}
}

// PromptParams begin a turn.
type PromptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []Block `json:"prompt"`
}

// CancelParams end it.
type CancelParams struct {
	SessionID string `json:"sessionId"`
}

// Block is a piece of content; this package writes and reads the text of those of
// type "text" and the names of the others.
type Block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
}

// TextBlock returns a block of text.
func TextBlock(text string) Block { return Block{Type: "text", Text: text} }

// PromptResult ends a turn. In the draft it only says that the agent has the prompt, and the
// update that it rests ends the turn, with these members.
type PromptResult struct {
	StopReason string          `json:"stopReason"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	Meta       json.RawMessage `json:"_meta,omitempty"`
}

// The reasons for the end of a turn; there may be others.
const (
	StopEndTurn   = "end_turn"
	StopCancelled = "cancelled"
	StopRefusal   = "refusal"
)
