// Package httpwire contains what clients and servers of gc's HTTP APIs share: problem documents and
// server-sent events. It imports the standard library only, so that the public packages can use it.
package httpwire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// ProblemType is the content type of problem documents.
const ProblemType = "application/problem+json"

// Internal is the code of an error without a sentinel error.
const Internal = "internal"

// maxProblem is the maximum size of a decoded problem document, in bytes.
const maxProblem = 1 << 20

// Problem is an RFC 9457 problem document: an error as it is sent. Each API has its own type with
// the same fields.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
}

// Code is the stable code of a sentinel error.
type Code struct {
	Err    error
	Code   string
	Status int
	Title  string
}

// Problems describes the problem documents of one API.
type Problems struct {
	Prefix string // the type of a problem is this prefix and the code
	Server string // the server, in errors of clients: "the controller"
	Codes  []Code
	// Hidden is the detail of an error without a sentinel error. Empty means the text of the error.
	Hidden string
}

// Of returns the problem document for err, which must not be nil.
func (ps *Problems) Of(err error) Problem {
	p := Problem{Title: "Internal error", Status: http.StatusInternalServerError, Code: Internal, Detail: ps.Hidden}
	if p.Detail == "" {
		p.Detail = err.Error()
	}
	for _, row := range ps.Codes {
		if errors.Is(err, row.Err) {
			p.Title, p.Status, p.Code, p.Detail = row.Title, row.Status, row.Code, err.Error()
			break
		}
	}
	p.Type = ps.Prefix + p.Code
	return p
}

// Is reports whether target is the sentinel error of a code.
func (ps *Problems) Is(code string, target error) bool {
	for _, row := range ps.Codes {
		if row.Code == code && errors.Is(row.Err, target) {
			return true
		}
	}
	return false
}

// Text returns the text of a problem as an error.
func (p *Problem) Text() string {
	if p.Detail != "" {
		return p.Detail
	}
	return strings.ToLower(p.Title)
}

// Read returns the problem document of a response. A response without a problem document becomes a
// problem with the code of its HTTP status.
func (ps *Problems) Read(res *http.Response) (Problem, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	if err != nil {
		return Problem{}, err
	}
	var p Problem
	if json.Unmarshal(body, &p) == nil && p.Code != "" {
		return p, nil
	}
	p = Problem{Title: http.StatusText(res.StatusCode), Status: res.StatusCode, Code: Internal}
	p.Detail = fmt.Sprintf("%s answered %s: %.200s", ps.Server, res.Status, strings.TrimSpace(string(body)))
	for _, row := range ps.Codes {
		if row.Status == res.StatusCode {
			p.Code = row.Code
			break
		}
	}
	p.Type = ps.Prefix + p.Code
	return p, nil
}
