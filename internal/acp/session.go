package acp

import "encoding/json"

// Implementation names a client or an agent.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// InitializeParams are the first request on a connection.
type InitializeParams struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         Implementation     `json:"clientInfo"`
	Info               *Implementation    `json:"info,omitempty"` // for the draft; ClientInfo is for version 1
}

// ClientCapabilities are the methods that a client implements.
type ClientCapabilities struct {
	FS       FSCapabilities `json:"fs"`
	Terminal bool           `json:"terminal"`
}

// FSCapabilities are the file methods that a client implements.
type FSCapabilities struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

// InitializeResult is the agent's answer. If its version is different from the requested one, the agent supports only that
// version.
type InitializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AgentInfo         *Implementation   `json:"agentInfo"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
	Info              *Implementation   `json:"info"` // in the draft
}

// About returns the name and version of the agent; nil if it did not report them.
func (r InitializeResult) About() *Implementation {
	if r.Info != nil {
		return r.Info
	}
	return r.AgentInfo
}

// AgentCapabilities are the features of an agent.
type AgentCapabilities struct {
	LoadSession         bool            `json:"loadSession"`
	MCP                 MCPCapabilities `json:"mcpCapabilities"`
	SessionCapabilities struct {
		Resume json.RawMessage `json:"resume"`
	} `json:"sessionCapabilities"`
}

// Resumes reports whether the agent can resume a session without repeating its messages.
func (a AgentCapabilities) Resumes() bool { return !isNull(a.SessionCapabilities.Resume) }

// MCPCapabilities are the transports of MCP servers that an agent supports besides stdio.
type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// AuthMethod is one way to sign in to an agent.
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// UnmarshalJSON decodes an AuthMethod of version 1 or of the draft.
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

// AuthenticateParams select a sign-in method.
type AuthenticateParams struct {
	MethodID string `json:"methodId"`
}

// MCPServer is a server that the agent must connect to. A stdio server has Command, Args and Env; its Type is empty, or
// [TypeStdio] in the draft. A server of type "http" or "sse" has URL and Headers. The lists of its kind must not be nil.
type MCPServer struct {
	Type    string
	Name    string
	Command string
	Args    []string
	Env     []Variable
	URL     string
	Headers []Variable
}

// TypeStdio is the type of a server that the agent starts. Only the draft sends it.
const TypeStdio = "stdio"

// MarshalJSON encodes only the members of the server's kind.
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

// SessionParams open a session. SessionID names the session to load or resume. MCPServers must not be nil.
type SessionParams struct {
	SessionID  string      `json:"sessionId,omitempty"`
	Cwd        string      `json:"cwd"`
	MCPServers []MCPServer `json:"mcpServers"`
}

// SessionResult is the answer to SessionParams. A loaded session keeps its ID.
type SessionResult struct {
	SessionID string `json:"sessionId"`
	Modes     *Modes `json:"modes"`
	Models    *struct {
		Current string `json:"currentModelId"`
	} `json:"models"`
	Options Options `json:"configOptions"`
}

// Modes are the modes of an agent.
type Modes struct {
	Current   string `json:"currentModeId"`
	Available []Mode `json:"availableModes"`
}

// Mode is one mode of an agent.
type Mode struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// SetModeParams change the mode.
type SetModeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

// SetOptionParams change an option of a session, in the draft.
type SetOptionParams struct {
	SessionID string `json:"sessionId"`
	ConfigID  string `json:"configId"`
	Type      string `json:"type"`
	Value     string `json:"value"`
}

// Selection returns the parameters that set an option to a value.
func Selection(session, option, value string) SetOptionParams {
	return SetOptionParams{SessionID: session, ConfigID: option, Type: "id", Value: value}
}

// PromptParams start a turn.
type PromptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []Block `json:"prompt"`
}

// CancelParams cancel the turn in progress.
type CancelParams struct {
	SessionID string `json:"sessionId"`
}

// Block is a piece of content. This package uses the text of blocks of type "text" and the names of other blocks.
type Block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
}

// TextBlock returns a block with text.
func TextBlock(text string) Block { return Block{Type: "text", Text: text} }

// PromptResult is the answer at the end of a turn. In the draft the answer only means that the agent has accepted the prompt; a
// later idle update ends the turn and has these members.
type PromptResult struct {
	StopReason string          `json:"stopReason"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	Meta       json.RawMessage `json:"_meta,omitempty"`
}

// The reasons for the end of a turn. There may be others.
const (
	StopEndTurn   = "end_turn"
	StopCancelled = "cancelled"
	StopRefusal   = "refusal"
)
