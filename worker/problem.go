package worker

import (
	"errors"
	"fmt"
	"net/http"

	"gascity/internal/httpwire"
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

// problems describes the problem documents of the worker API. They do not contain the text of an
// error without a sentinel error, because an agent may read them.
var problems = httpwire.Problems{
	Prefix: "urn:gascity:worker:",
	Server: "the city",
	Hidden: "the city failed; see the log of its controller",
	Codes: []httpwire.Code{
		{Err: ErrUnauthorized, Code: "unauthorized", Status: http.StatusUnauthorized, Title: "Unauthorized"},
		{Err: ErrForbidden, Code: "forbidden", Status: http.StatusForbidden, Title: "Forbidden"},
		{Err: ErrFenced, Code: "fenced", Status: http.StatusGone, Title: "Fenced out"},
		{Err: ErrNotFound, Code: "not_found", Status: http.StatusNotFound, Title: "Not found"},
		{Err: ErrTooLarge, Code: "too_large", Status: http.StatusRequestEntityTooLarge, Title: "Too large"},
		{Err: ErrInvalid, Code: "invalid", Status: http.StatusUnprocessableEntity, Title: "Invalid request"},
		{Err: ErrRefused, Code: "refused", Status: http.StatusConflict, Title: "Refused"},
		{Err: ErrTimeout, Code: "timed_out", Status: http.StatusGatewayTimeout, Title: "Timed out"},
		{Err: ErrUnavailable, Code: "unavailable", Status: http.StatusServiceUnavailable, Title: "Unavailable"},
	},
}

// Codes returns the table of stable codes.
func Codes() []Code {
	rows := make([]Code, len(problems.Codes))
	for i, row := range problems.Codes {
		rows[i] = Code(row)
	}
	return rows
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
		return fmt.Errorf("%w: its error %d is incomplete: %w", errUnreached, res.StatusCode, err)
	}
	return (*Problem)(&p)
}
