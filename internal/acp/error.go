package acp

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error is an error answer of the peer, or one for it.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// The codes that the protocol gives a meaning to.
const (
	CodeParse            = -32700
	CodeInvalidRequest   = -32600
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602
	CodeInternal         = -32603
	CodeAuthRequired     = -32000
	CodeDenied           = -32001 // ours: the rules of the agent's city do not allow it
	CodeResourceNotFound = -32002
	CodeCancelled        = -32800
)

func (e *Error) Error() string {
	const most = 400
	text := e.Message
	if len(e.Data) > 0 && !isNull(e.Data) {
		data := string(e.Data)
		if len(data) > most {
			data = data[:most] + "..."
		}
		text += ": " + data
	}
	return fmt.Sprintf("%s (code %d)", text, e.Code)
}

// IsCode reports whether err is an answer of the peer with that code.
func IsCode(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// ErrClosed says that the connection has ended. Calls under way then fail with it.
var ErrClosed = errors.New("the connection to the agent has ended")

// LongLineError says that a line was longer than the limit and was skipped.
type LongLineError struct {
	Bytes int // its length without the newline
	Begin string
}

func (e *LongLineError) Error() string {
	return fmt.Sprintf("a message of %d bytes was dropped: the limit is %d", e.Bytes, MaxLine)
}

// MethodNotFound returns the answer for a method that is not served.
func MethodNotFound(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "method not found: " + method}
}

// InvalidParams returns the answer for parameters that cannot be used.
func InvalidParams(why string) *Error { return &Error{Code: CodeInvalidParams, Message: why} }
