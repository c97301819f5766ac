package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The sentinel errors of the control API. They are the same on both sides of the
// connection: [errors.Is] finds in the client the error that a controller returned.
var (
	// ErrNoController reports that no controller answers for the city. The
	// server never sends it. See [NoControllerError].
	ErrNoController = errors.New("no controller")
	// ErrLost reports that the connection to the controller was lost before it answered: it is
	// unknown whether the controller executed the request. A GET request never returns it: it is
	// sent again, and without a controller returns ErrNoController. The server never sends it.
	ErrLost = errors.New("connection lost")
	// ErrNotFound reports a target that does not exist: agent, session, city.
	ErrNotFound = errors.New("not found")
	// ErrRefused reports that the controller does not execute the request in the current state.
	// Nothing was done.
	ErrRefused = errors.New("refused")
	// ErrTimeout reports that a deadline ended first. The requested operation may still happen.
	ErrTimeout = errors.New("timed out")
	// ErrInvalid reports a request that can never succeed without a change.
	ErrInvalid = errors.New("invalid request")
	// ErrUnsupported reports that the session's provider does not support the operation.
	ErrUnsupported = errors.ErrUnsupported
	// ErrForbidden reports that the caller may not use this controller.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable reports that the controller could not reach something that it needs for the
	// answer. It proves nothing about sessions.
	ErrUnavailable = errors.New("unavailable")
)

// codes is the table of stable codes, with their sentinel errors and HTTP statuses.
var codes = []struct {
	err    error
	code   string
	status int
	title  string
}{
	{ErrNotFound, "not_found", http.StatusNotFound, "Not found"},
	{ErrRefused, "refused", http.StatusConflict, "Refused"},
	{ErrTimeout, "timed_out", http.StatusGatewayTimeout, "Timed out"},
	{ErrInvalid, "invalid", http.StatusUnprocessableEntity, "Invalid request"},
	{ErrUnsupported, "unsupported", http.StatusNotImplemented, "Unsupported"},
	{ErrForbidden, "forbidden", http.StatusForbidden, "Forbidden"},
	{ErrUnavailable, "unavailable", http.StatusServiceUnavailable, "Unavailable"},
	{context.DeadlineExceeded, "timed_out", http.StatusGatewayTimeout, "Timed out"},
}

// codeInternal is the code of an error without a sentinel error.
const codeInternal = "internal"

// maxProblem is the maximum size of a decoded problem document, in bytes.
const maxProblem = 1 << 20

// Problem is an RFC 9457 problem document: an error as it is sent. It matches the sentinel error of
// its code.
type Problem struct { //nolint:errname // RFC 9457 calls it a problem
	Type   string `json:"type"`   // "urn:gascity:problem:" and the code
	Title  string `json:"title"`  // the code as text for people
	Status int    `json:"status"` // the HTTP status
	Detail string `json:"detail"` // what happened, and the fix
	Code   string `json:"code"`   // stable, see docs/reference/api.md
}

// ProblemOf returns the problem document for err, which must not be nil.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := &Problem{Title: "Internal error", Status: http.StatusInternalServerError, Detail: err.Error(), Code: codeInternal}
	for _, row := range codes {
		if errors.Is(err, row.err) {
			p.Title, p.Status, p.Code = row.title, row.status, row.code
			break
		}
	}
	p.Type = "urn:gascity:problem:" + p.Code
	return p
}

func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return strings.ToLower(p.Title)
}

// Is reports whether target is the sentinel error of the problem's code.
func (p *Problem) Is(target error) bool {
	for _, row := range codes {
		if row.code == p.Code && row.err == target {
			return true
		}
	}
	return false
}

// readProblem returns the error of a response. If the response is not a problem document, the error
// has the code of its HTTP status.
func readProblem(res *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	if err != nil {
		return fmt.Errorf("cannot read the controller's error %d: %w", res.StatusCode, err)
	}
	p := &Problem{}
	if json.Unmarshal(body, p) == nil && p.Code != "" {
		return p
	}
	p = &Problem{Title: http.StatusText(res.StatusCode), Status: res.StatusCode, Code: codeInternal}
	p.Detail = fmt.Sprintf("the controller answered %s: %.200s", res.Status, strings.TrimSpace(string(body)))
	for _, row := range codes {
		if row.status == res.StatusCode {
			p.Code = row.code
			break
		}
	}
	p.Type = "urn:gascity:problem:" + p.Code
	return p
}

// NoControllerError reports that no controller answers for a city. It matches [ErrNoController].
type NoControllerError struct {
	City string // the city directory, or its socket
	Err  error  // the cause
	// Holder is the id of the process that holds the city's lock although no controller answers at
	// its socket, or 0 if there is none. It is a controller that starts or stops, or whose socket
	// was removed or replaced.
	Holder int
}

func (e *NoControllerError) Error() string {
	if e.Holder > 0 {
		return fmt.Sprintf("the controller of %s (process %d) cannot be reached: its socket was removed or replaced, or it is starting or stopping; agents keep running; run: gc start", e.City, e.Holder)
	}
	return fmt.Sprintf("no controller runs for %s; start it with: gc start", e.City)
}

// Is reports whether target is [ErrNoController].
func (e *NoControllerError) Is(target error) bool { return target == ErrNoController }

// Unwrap returns the cause.
func (e *NoControllerError) Unwrap() error { return e.Err }
