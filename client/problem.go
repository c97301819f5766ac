package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"gascity/internal/httpwire"
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
	// ErrUnauthorized reports that a request on the web has no valid sign-in. The control socket
	// never sends it.
	ErrUnauthorized = errors.New("not signed in")
	// ErrTooMany reports that a device on the web sends more than the listener accepts. The control
	// socket never sends it.
	ErrTooMany = errors.New("too many requests")
	// ErrUnavailable reports that the controller could not reach something that it needs for the
	// answer. It proves nothing about sessions.
	ErrUnavailable = errors.New("unavailable")
)

// problems describes the problem documents of the control API.
var problems = httpwire.Problems{
	Prefix: "urn:gascity:problem:",
	Server: "the controller",
	Codes: []httpwire.Code{
		{Err: ErrNotFound, Code: "not_found", Status: http.StatusNotFound, Title: "Not found"},
		{Err: ErrRefused, Code: "refused", Status: http.StatusConflict, Title: "Refused"},
		{Err: ErrTimeout, Code: "timed_out", Status: http.StatusGatewayTimeout, Title: "Timed out"},
		{Err: ErrInvalid, Code: "invalid", Status: http.StatusUnprocessableEntity, Title: "Invalid request"},
		{Err: ErrUnsupported, Code: "unsupported", Status: http.StatusNotImplemented, Title: "Unsupported"},
		{Err: ErrForbidden, Code: "forbidden", Status: http.StatusForbidden, Title: "Forbidden"},
		{Err: ErrUnauthorized, Code: "unauthorized", Status: http.StatusUnauthorized, Title: "Not signed in"},
		{Err: ErrTooMany, Code: "too_many_requests", Status: http.StatusTooManyRequests, Title: "Too many requests"},
		{Err: ErrUnavailable, Code: "unavailable", Status: http.StatusServiceUnavailable, Title: "Unavailable"},
		{Err: context.DeadlineExceeded, Code: "timed_out", Status: http.StatusGatewayTimeout, Title: "Timed out"},
	},
}

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
	p := Problem(problems.Of(err))
	return &p
}

func (p *Problem) Error() string { return (*httpwire.Problem)(p).Text() }

// Is reports whether target is the sentinel error of the problem's code.
func (p *Problem) Is(target error) bool { return problems.Is(p.Code, target) }

// readProblem returns the error of a response. If the response is not a problem document, the error
// has the code of its HTTP status.
func readProblem(res *http.Response) error {
	p, err := problems.Read(res)
	if err != nil {
		return fmt.Errorf("cannot read the controller's error %d: %w", res.StatusCode, err)
	}
	return (*Problem)(&p)
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
