package channel

import (
	"encoding/json"
	"strings"
)

// message is the envelope of one JSON-RPC message. A message with a method and an ID is a
// request, one with a method alone a notification, one with an ID alone an answer.
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

func (e *rpcError) Error() string { return e.Message }

// ownPrefix begins the IDs of our own requests; the terminal client uses others.
const ownPrefix = `"gc-`

// own reports whether an answer is for a request of ours.
func (m message) own() bool {
	return m.Method == "" && strings.HasPrefix(string(m.ID), ownPrefix)
}

// The methods that matter here.
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

// thread, turn and item are what is read of the server's objects.
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

// The statuses of a turn that has ended; others go on.
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
	ClientID string `json:"clientId"` // the ID that the sender of a user's message gave it
}

const itemUserMessage = "userMessage"

// notice is what is read of the parameters of a notification.
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

// The statuses of a thread that say that no turn is in progress.
const (
	statusIdle  = "idle"
	statusError = "systemError"
)

// textInput is the input of a turn: one text.
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

// markHooksTrusted returns the server's list of hooks with those of its own command line as trusted.
// The server was started to run them; the client does not know that when it resumes a
// conversation, and would ask and write the answer into the user's configuration.
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
