package worker

import (
	"errors"
	"net/http"
	"strings"
)

// The sentinels of the worker API, the same on both sides of the wire.
var (
	// ErrUnauthorized reports a missing, unknown or dead token.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrForbidden reports a token that may not do this: it is another run's, or
	// the caller is not allowed to direct agents.
	ErrForbidden = errors.New("forbidden")
	// ErrFenced reports an instance whose place another one has taken. The worker ends.
	ErrFenced = errors.New("fenced out")
	// ErrNotFound reports a run, message or question that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrInvalid reports a body that can never be accepted as it is.
	ErrInvalid = errors.New("invalid request")
	// ErrTooLarge reports a body over its limit.
	ErrTooLarge = errors.New("too large")
	// ErrRefused reports what cannot be done now; nothing was done.
	ErrRefused = errors.New("refused")
	// ErrTimeout reports a wait that ended first. What was asked for may still happen.
	ErrTimeout = errors.New("timed out")
	// ErrUnavailable reports that the city cannot do its part now. Ask again; for
	// an authorization it means no.
	ErrUnavailable = errors.New("unavailable")
)

// Code is what a sentinel is on the wire.
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

// Problem is an error on the wire: an RFC 9457 problem document. It matches the
// sentinel of its code.
type Problem struct { //nolint:errname // RFC 9457 calls it a problem
	Type   string `json:"type"` // "urn:gascity:worker:" and the code
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
}

// ProblemOf returns the problem document for err, which is not nil. An error
// without a sentinel becomes "internal", and its text stays here.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := &Problem{Title: "Internal error", Status: http.StatusInternalServerError, Code: "internal", Detail: "the city failed; its log says why"}
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

// Is reports whether target is the sentinel of the problem's code.
func (p *Problem) Is(target error) bool {
	for _, row := range Codes() {
		if row.Code == p.Code && row.Err == target {
			return true
		}
	}
	return false
}
