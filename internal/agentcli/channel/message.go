package channel

import (
	"encoding/json"
	"strings"
)

// message is one JSON-RPC message. With a method and an ID it is a request, with only a method a
// notification, and with only an ID an answer.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

// rpcError is the error of an answer.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the message of the error.
func (e *rpcError) Error() string { return e.Message }

// ownPrefix is the beginning of the IDs of gc's own requests to the server. No ID of the client
// begins like that.
const ownPrefix = `"gc-`

// own reports whether the message is the answer to a request of gc and not of the client.
func (m message) own() bool {
	return m.Method == "" && strings.HasPrefix(string(m.ID), ownPrefix)
}

// The methods that this package uses.
const (
	methodThreadStart   = "thread/start"
	methodThreadResume  = "thread/resume"
	methodThreadFork    = "thread/fork"
	methodHooksList     = "hooks/list"
	methodTurnStart     = "turn/start"
	methodTurnInterrupt = "turn/interrupt"

	noticeTurnStarted   = "turn/started"
	noticeTurnCompleted = "turn/completed"
	noticeItemStarted   = "item/started"
	noticeItemCompleted = "item/completed"
	noticeStatus        = "thread/status/changed"
	noticeError         = "error"
)

// thread, turn and item are objects of the server's protocol, with the fields that gc uses.
type thread struct {
	ID        string `json:"id"`
	Ephemeral bool   `json:"ephemeral"`
	Parent    string `json:"parentThreadId"`
	Turns     []turn `json:"turns"`
}

type turn struct {
	ID     string     `json:"id"`
	Status string     `json:"status"`
	Error  *turnError `json:"error"`
}

// The statuses of a turn that has ended. With any other status it is running.
const (
	turnCompleted   = "completed"
	turnInterrupted = "interrupted"
	turnFailed      = "failed"
)

type turnError struct {
	Message string `json:"message"`
	Details string `json:"additionalDetails"`
}

type item struct {
	Type     string `json:"type"`
	ClientID string `json:"clientId"` // the ID that the sender gave to a user message
}

const itemUserMessage = "userMessage"

// notice has the parameters of a notification that gc uses.
type notice struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
	Turn     turn   `json:"turn"`
	Item     item   `json:"item"`
	Status   struct {
		Type string `json:"type"`
	} `json:"status"`
	Error     turnError `json:"error"`
	WillRetry bool      `json:"willRetry"`
}

// The statuses of a thread without a running turn.
const (
	statusIdle  = "idle"
	statusError = "systemError"
)

// textInput is the content of a prompt: one text.
type textInput struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type turnStartParams struct {
	ThreadID string      `json:"threadId"`
	ClientID string      `json:"clientUserMessageId"`
	Input    []textInput `json:"input"`
}

type turnParams struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

// markHooksTrusted returns a line with the server's list of hooks, in which the hooks from the
// server's own command line are marked as trusted. Without the mark, the client asks a person about
// them when it resumes a conversation, and writes the answer into the user's configuration.
func markHooksTrusted(line []byte) []byte {
	var answer map[string]any
	if json.Unmarshal(line, &answer) != nil {
		return line
	}
	result, _ := answer["result"].(map[string]any)
	groups, _ := result["data"].([]any)
	for _, group := range groups {
		of, _ := group.(map[string]any)
		hooks, _ := of["hooks"].([]any)
		for _, hook := range hooks {
			if h, ok := hook.(map[string]any); ok && h["source"] == "sessionFlags" {
				h["trustStatus"] = "trusted"
			}
		}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return line
	}
	return text
}
