package worker

import (
	"errors"
	"net/http"
	"strings"
)

// The sentinel errors of the worker API. They are the same on both sides of the connection.
var (
	// ErrUnauthorized reports a missing, unknown or expired token.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden reports a token that does not permit the request: it belongs to another run, or
	// the caller may not direct agents.
	ErrForbidden = errors.New("forbidden")
	// ErrFenced reports that another instance has replaced this one. The worker must exit.
	ErrFenced = errors.New("fenced out")
	// ErrNotFound reports a run, message or question that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrInvalid reports a body that can never be accepted without a change.
	ErrInvalid = errors.New("invalid request")
	// ErrTooLarge reports a body over its limit.
	ErrTooLarge = errors.New("too large")
	// ErrRefused reports a request that is not possible in the current state. Nothing was done.
	ErrRefused = errors.New("refused")
	// ErrTimeout reports a wait that ended first. The requested operation may still happen.
	ErrTimeout = errors.New("timed out")
	// ErrUnavailable reports that the city cannot process the request now. Try again. For an
	// authorization it means a denial.
	ErrUnavailable = errors.New("unavailable")
)

// Code is the stable code of a sentinel error.
type Code struct {
	Err    error
	Code   string
	Status int
	Title  string
}

// Codes returns the table of stable codes.
func Codes() []Code {
	return []Code{
		{ErrUnauthorized, "unauthorized", http.StatusUnauthorized, "Unauthorized"},
		{ErrForbidden, "forbidden", http.StatusForbidden, "Forbidden"},
		{ErrFenced, "fenced", http.StatusGone, "Fenced out"},
		{ErrNotFound, "not_found", http.StatusNotFound, "Not found"},
		{ErrTooLarge, "too_large", http.StatusRequestEntityTooLarge, "Too large"},
		{ErrInvalid, "invalid", http.StatusUnprocessableEntity, "Invalid request"},
		{ErrRefused, "refused", http.StatusConflict, "Refused"},
		{ErrTimeout, "timed_out", http.StatusGatewayTimeout, "Timed out"},
		{ErrUnavailable, "unavailable", http.StatusServiceUnavailable, "Unavailable"},
	}
}

// Problem is an RFC 9457 problem document: an error as it is sent. It matches the sentinel error of
// its code.
type Problem struct { //nolint:errname // RFC 9457 calls it a problem
	Type   string `json:"type"` // "urn:gascity:worker:" and the code
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
}

// ProblemOf returns the problem document for err, which must not be nil. For an error without a
// sentinel error the code is "internal", and the text of err is not included.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := &Problem{Title: "Internal error", Status: http.StatusInternalServerError, Code: "internal", Detail: "the city failed; see the log of its controller"}
	for _, row := range Codes() {
		if errors.Is(err, row.Err) {
			p.Title, p.Status, p.Code, p.Detail = row.Title, row.Status, row.Code, err.Error()
			break
		}
	}
	p.Type = "urn:gascity:worker:" + p.Code
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
	for _, row := range Codes() {
		if row.Code == p.Code && row.Err == target {
			return true
		}
	}
	return false
}
