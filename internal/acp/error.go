package acp

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error is an error in an answer of the peer or in an answer to it.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// The error codes of the protocol that this package uses.
const (
	CodeParse            = -32700
	CodeInvalidRequest   = -32600
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602
	CodeInternal         = -32603
	CodeAuthRequired     = -32000
	CodeDenied           = -32001 // defined by gc: the rules of the agent's city deny the call
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

// ErrClosed reports that the connection has ended. Calls in progress fail with it.
var ErrClosed = errors.New("the connection to the agent has ended")

// LongLineError reports a line that was longer than the limit and was skipped.
type LongLineError struct {
	Bytes int // length of the line without the newline
	Begin string
}

func (e *LongLineError) Error() string {
	return fmt.Sprintf("a message of %d bytes was dropped: the limit is %d", e.Bytes, MaxLine)
}

// MethodNotFound returns the error for an unknown method.
func MethodNotFound(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "method not found: " + method}
}

// InvalidParams returns the error for invalid parameters.
func InvalidParams(why string) *Error { return &Error{Code: CodeInvalidParams, Message: why} }
