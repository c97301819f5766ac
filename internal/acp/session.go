package acp

import "encoding/json"

// Implementation is the name and version of a client or an agent.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// InitializeParams are the parameters of the first request on a connection.
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

// InitializeResult is the agent's answer to the first request. If its version is not the requested one, the agent supports only
// that version.
type InitializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AgentInfo         *Implementation   `json:"agentInfo"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
	Info              *Implementation   `json:"info"` // in the draft
}

// About returns the agent's name and version; nil if it did not send them.
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

// UnmarshalJSON decodes a sign-in method of version 1 or of the draft. It implements json.Unmarshaler.
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

// AuthenticateParams are the parameters of a request to sign in.
type AuthenticateParams struct {
	MethodID string `json:"methodId"`
}

// MCPServer is a server for the Model Context Protocol that the agent must connect to. If the agent starts it, it has Command,
// Args and Env, and its Type is empty, or [TypeStdio] in the draft. With the type "http" or "sse" it has URL and Headers. The
// lists that it has must not be nil.
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

// MarshalJSON encodes the fields that a server of this type has. It implements json.Marshaler.
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

// SessionParams are the parameters of a request to open a session: a new one or, with a SessionID, one to load or resume.
// MCPServers must not be nil.
type SessionParams struct {
	SessionID  string      `json:"sessionId,omitempty"`
	Cwd        string      `json:"cwd"`
	MCPServers []MCPServer `json:"mcpServers"`
}

// SessionResult is the answer to a request to open a session. A session that was loaded keeps its ID.
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

// SetModeParams are the parameters of a request to change the mode of a session.
type SetModeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

// SetOptionParams are the parameters of a request to change an option of a session, in the draft.
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

// PromptParams are the parameters of a prompt, which begins a turn.
type PromptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []Block `json:"prompt"`
}

// CancelParams are the parameters of a notification that cancels the turn.
type CancelParams struct {
	SessionID string `json:"sessionId"`
}

// Block is a part of a message. This package uses the text of blocks of the type "text", and the names of other blocks.
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
)
