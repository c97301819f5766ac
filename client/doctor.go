package client

import (
	"context"
	"io"
	"net/http"
)

// The levels of a [Finding].
const (
	LevelOK      = "ok"
	LevelWarning = "warning" // works, but can be improved
	LevelProblem = "problem" // does not work until it is fixed
)

// Finding is the result of one check of gc doctor.
type Finding struct {
	Check   string `json:"check"` // a stable name: "config", "socket", "agent.worker.command"
	Level   string `json:"level"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"` // how to fix it, preferably a command
}

// Findings are the results of all checks, in order. `gc doctor --json` prints them.
type Findings struct {
	Findings []Finding `json:"findings"`
}

// Doctor checks the city and its machine from inside the controller: with its environment, its PATH
// and its user. It takes some seconds, because a test agent gets a prompt on each runtime provider.
// Only one examination runs at a time; another one is [ErrRefused].
func (c *Client) Doctor(ctx context.Context) (Findings, error) {
	return callLong[Findings](ctx, c, http.MethodPost, "/v1/doctor", nil)
}

// Bundle returns a support bundle, a gzip-compressed tar archive without credentials. The caller must
// close it. Reading fails if the controller cannot complete it.
func (c *Client) Bundle(ctx context.Context) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/v1/bundle", nil)
}
