package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Session is everything that the controller knows about one session. `gc session show` prints it.
type Session struct {
	Agent
	WorkDir      string            `json:"work_dir,omitempty"`
	Command      string            `json:"command,omitempty"` // without the prompt
	Title        string            `json:"title,omitempty"`
	Meta         map[string]string `json:"meta,omitempty"`
	Fingerprints map[string]string `json:"fingerprints,omitempty"` // "core", "provision", "launch", "live"
	LastScreen   string            `json:"last_screen,omitempty"`  // the last screen of an agent that has exited
	Processes    []Process         `json:"processes,omitempty"`    // the session's process tree, parents first
}

// Process is one process of a session.
type Process struct {
	PID     int    `json:"pid"`
	PPID    int    `json:"ppid"`
	Command string `json:"command"`
	State   string `json:"state"`
}

// Output is recorded text.
type Output struct {
	Session string `json:"session"`
	Text    string `json:"text"`
}

// KeysRequest lists key events by their tmux names.
type KeysRequest struct {
	Keys     []string `json:"keys"`
	Instance string   `json:"instance,omitempty"` // only this instance; see Agent.Instance
}

// CopyRequest copies a file or directory of the controller's machine into a session's working
// directory.
type CopyRequest struct {
	Src    string `json:"src"` // absolute
	RelDst string `json:"rel_dst,omitempty"`

	Instance string `json:"instance,omitempty"` // only this instance; see Agent.Instance
}

// Done is the result of an operation: what was changed, or why nothing was.
type Done struct {
	Session string `json:"session,omitempty"`
	Changed bool   `json:"changed"`
	Detail  string `json:"detail,omitempty"`
}

// Census counts what a stop of the city found and stopped.
type Census struct {
	Sessions []StopResult `json:"sessions"`
	Clean    bool         `json:"clean"` // no process is left
}

// StopResult is the result of the stop of one session.
type StopResult struct {
	Session   string  `json:"session"`
	Agent     string  `json:"agent,omitempty"`
	Processes int     `json:"processes"` // number of processes at the beginning of the stop
	Survivors []int   `json:"survivors,omitempty"`
	Seconds   float64 `json:"seconds"`
	Error     string  `json:"error,omitempty"`
	// Uncounted reports that Processes is not a count, because the runtime provider does not report
	// the session's processes.
	Uncounted bool `json:"uncounted,omitempty"`
}

// LogQuery selects from the recorded raw output of a session.
type LogQuery struct {
	Since  time.Time // output from this time on, to the second; zero means all
	Until  time.Time // output up to this time, to the second; zero means all. It excludes Follow
	Follow bool      // continue with new output until ctx ends
}

// target returns the URL path of an operation on an agent or session.
func target(name, verb string) string {
	path := "/v1/sessions/" + url.PathEscape(name)
	if verb != "" {
		path += "/" + verb
	}
	return path
}

// Session returns everything that the controller knows about the target. In all methods the target
// is an agent's name or a session's name. For an unknown one the error is [ErrNotFound].
func (c *Client) Session(ctx context.Context, name string) (Session, error) {
	return call[Session](ctx, c, http.MethodGet, target(name, ""), nil)
}

// Peek returns the last lines that the target's agent printed. Zero lines means the visible screen.
func (c *Client) Peek(ctx context.Context, name string, lines int) (Output, error) {
	return call[Output](ctx, c, http.MethodGet, fmt.Sprintf("%s?lines=%d", target(name, "peek"), lines), nil)
}

// Logs returns the recorded raw output with its control sequences. The caller must close it. For a
// provider that records nothing the error is [ErrUnsupported].
func (c *Client) Logs(ctx context.Context, name string, q LogQuery) (io.ReadCloser, error) {
	values := url.Values{}
	if !q.Since.IsZero() {
		values.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		values.Set("until", q.Until.UTC().Format(time.RFC3339Nano))
	}
	if q.Follow {
		values.Set("follow", "true")
	}
	res, err := c.send(ctx, http.MethodGet, target(name, "logs")+"?"+values.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// Interrupt asks the target's agent to abandon its turn. It uses only Instance and InTurn of the
// request.
func (c *Client) Interrupt(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "interrupt"), req)
}

// Keys sends key events by tmux name. For an unknown name the error is [ErrInvalid] and nothing is
// sent.
func (c *Client) Keys(ctx context.Context, name string, req KeysRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "keys"), req)
}

// ClearInput removes all text from the input box of the target's agent, including text that a
// person typed. It returns when it is proved that the input box is empty. If the agent has no input
// box, the error is [ErrUnsupported]. It uses only Instance of the request.
func (c *Client) ClearInput(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "clear-input"), req)
}

// Copy copies a file or directory into the target's working directory.
func (c *Client) Copy(ctx context.Context, name string, req CopyRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "copy"), req)
}

// Kill stops the target's instance with all its processes. The controller starts the next one if
// the agent must run. It uses only Instance and Force of the request. If Instance is not the
// running instance, the error is [ErrRefused] and nothing is stopped. While the city is degraded,
// the error is [ErrUnavailable] and nothing is stopped, unless Force is set; the next instance then
// starts when the city is not degraded any more.
func (c *Client) Kill(ctx context.Context, name string, req LifecycleRequest) (StopResult, error) {
	return call[StopResult](ctx, c, http.MethodPost, target(name, "kill"), req)
}
