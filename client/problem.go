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

// The sentinels of the control API. They are the same on both sides of the
// wire: what a controller returns is what [errors.Is] finds in the client.
var (
	// ErrNoController reports that no controller answers for the city. The
	// server never sends it. See [NoControllerError].
	ErrNoController = errors.New("no controller")
	// ErrLost reports that the controller went away before it answered: it is
	// unknown whether it carried out the request. A question never ends so: it is
	// asked again, and without a controller ends with ErrNoController. The server
	// never sends it.
	ErrLost = errors.New("connection lost")
	// ErrNotFound reports a target that does not exist: agent, session, city.
	ErrNotFound = errors.New("not found")
	// ErrRefused reports that the controller would not do it now; nothing was
	// done.
	ErrRefused = errors.New("refused")
	// ErrTimeout reports that a deadline ended first. What was asked for may
	// still happen.
	ErrTimeout = errors.New("timed out")
	// ErrInvalid reports a request that can never succeed as it is.
	ErrInvalid = errors.New("invalid request")
	// ErrUnsupported reports that the session's provider cannot do it.
	ErrUnsupported = errors.ErrUnsupported
	// ErrForbidden reports that the caller may not speak to this controller.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable reports that the controller could not reach what it needs
	// to answer. It proves nothing about sessions.
	ErrUnavailable = errors.New("unavailable")
)

// codes is the table of stable codes: what a sentinel is on the wire.
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

// codeInternal is the code of an error without a sentinel.
const codeInternal = "internal"

// maxProblem bounds a decoded problem document.
const maxProblem = 1 << 20

// Problem is an error on the wire: an RFC 9457 problem document. It matches the
// sentinel of its code.
type Problem struct { //nolint:errname // RFC 9457 calls it a problem
	Type   string `json:"type"`   // "urn:gascity:problem:" and the code
	Title  string `json:"title"`  // the code for people
	Status int    `json:"status"` // the HTTP status
	Detail string `json:"detail"` // what happened, and the remedy
	Code   string `json:"code"`   // stable, see docs/reference/api.md
}

// ProblemOf returns the problem document for err, which is not nil.
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

// Is reports whether target is the sentinel of the problem's code.
func (p *Problem) Is(target error) bool {
	for _, row := range codes {
		if row.code == p.Code && row.err == target {
			return true
		}
	}
	return false
}

// readProblem reads the error of an answer. An answer that is no problem
// document gets the code of its HTTP status.
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

// NoControllerError says for which city no controller answers. It is
// [ErrNoController] to [errors.Is].
type NoControllerError struct {
	City string // the city directory, or its socket
	Err  error  // what showed it
	// Holder is the process that holds the city's lock although nothing answers at its socket, 0 if none
	// does: a controller that starts or stops, or whose socket was removed or replaced.
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

// Unwrap returns what showed it.
func (e *NoControllerError) Unwrap() error { return e.Err }
