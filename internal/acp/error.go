package acp

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error is an error that one side of a connection answers a request with.
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

// Error returns the message and the beginning of the data.
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

// IsCode reports whether err is an error of the peer with the given code.
func IsCode(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// ErrClosed means that the connection has ended before the answer to a request arrived.
var ErrClosed = errors.New("the connection to the agent has ended")

// LongLineError means that a line was skipped because it was longer than [MaxLine].
type LongLineError struct {
	Bytes int // length of the line without the newline
	Begin string
}

// Error returns how long the line was, and what the limit is.
func (e *LongLineError) Error() string {
	return fmt.Sprintf("a message of %d bytes was dropped: the limit is %d", e.Bytes, MaxLine)
}

// MethodNotFound returns the error for a request with a method that is not known.
func MethodNotFound(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "method not found: " + method}
}

// InvalidParams returns the error for a request with wrong parameters. why says what is wrong.
func InvalidParams(why string) *Error { return &Error{Code: CodeInvalidParams, Message: why} }
