package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Session is everything that is known of one session: what `gc session show`
// prints.
type Session struct {
	Agent
	WorkDir      string            `json:"work_dir,omitempty"`
	Command      string            `json:"command,omitempty"` // without the prompt
	Title        string            `json:"title,omitempty"`
	Meta         map[string]string `json:"meta,omitempty"`
	Fingerprints map[string]string `json:"fingerprints,omitempty"` // "core", "provision", "launch", "live"
	LastScreen   string            `json:"last_screen,omitempty"`  // of an agent that has exited
	Processes    []Process         `json:"processes,omitempty"`    // the session's process tree, parents first
}

// Process is one process of a session.
type Process struct {
	PID     int    `json:"pid"`
	PPID    int    `json:"ppid"`
	Command string `json:"command"`
	State   string `json:"state"`
}

// Output is captured text.
type Output struct {
	Session string `json:"session"`
	Text    string `json:"text"`
}

// KeysRequest are key events by tmux name.
type KeysRequest struct {
	Keys     []string `json:"keys"`
	Instance string   `json:"instance,omitempty"` // only this instance; see Agent.Instance
}

// CopyRequest copies a file or folder of the controller's machine into a
// session's working directory.
type CopyRequest struct {
	Src    string `json:"src"` // absolute
	RelDst string `json:"rel_dst,omitempty"`

	Instance string `json:"instance,omitempty"` // only this instance; see Agent.Instance
}

// Done answers a verb: what was changed, or why nothing was.
type Done struct {
	Session string `json:"session,omitempty"`
	Changed bool   `json:"changed"`
	Detail  string `json:"detail,omitempty"`
}

// Census counts what a stop found and ended.
type Census struct {
	Sessions []StopResult `json:"sessions"`
	Clean    bool         `json:"clean"` // nothing survived
}

// StopResult is the end of one session.
type StopResult struct {
	Session   string  `json:"session"`
	Agent     string  `json:"agent,omitempty"`
	Processes int     `json:"processes"` // found when the stop began
	Survivors []int   `json:"survivors,omitempty"`
	Seconds   float64 `json:"seconds"`
	Error     string  `json:"error,omitempty"`
	// Uncounted says that Processes is no count: the runtime provider does not report the session's
	// processes.
	Uncounted bool `json:"uncounted,omitempty"`
}

// LogQuery selects from the raw output that was recorded of a session.
type LogQuery struct {
	Since  time.Time // output from then on, to the second; zero is all that is kept
	Until  time.Time // output up to then, to the second; zero is all that there is. It excludes Follow
	Follow bool      // go on with what is printed from now on, until ctx ends
}

// target returns the path of a verb on an agent or session.
func target(name, verb string) string {
	path := "/v1/sessions/" + url.PathEscape(name)
	if verb != "" {
		path += "/" + verb
	}
	return path
}

// Session returns everything that is known of the target: an agent's name or a
// session's name, here and in all methods. An unknown one is [ErrNotFound].
func (c *Client) Session(ctx context.Context, name string) (Session, error) {
	return call[Session](ctx, c, http.MethodGet, target(name, ""), nil)
}

// Peek returns the last lines of what the target's agent printed. Zero lines is
// the visible screen.
func (c *Client) Peek(ctx context.Context, name string, lines int) (Output, error) {
	return call[Output](ctx, c, http.MethodGet, fmt.Sprintf("%s?lines=%d", target(name, "peek"), lines), nil)
}

// Logs returns the raw output that was recorded, control sequences and all. The
// caller closes it. A provider that records nothing is [ErrUnsupported].
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

// Interrupt asks the target's agent to abandon its turn. Of the request only the
// instance counts.
func (c *Client) Interrupt(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "interrupt"), req)
}

// Keys sends key events by tmux name. An unknown name is [ErrInvalid] and
// nothing is sent.
func (c *Client) Keys(ctx context.Context, name string, req KeysRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "keys"), req)
}

// ClearInput removes all text from the input box of the target's agent, including what a
// person typed there. It returns when the box is proved empty. [ErrUnsupported] if the agent
// has no input box. Of the request only the instance counts.
func (c *Client) ClearInput(ctx context.Context, name string, req LifecycleRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "clear-input"), req)
}

// Copy copies a file or folder into the target's working directory.
func (c *Client) Copy(ctx context.Context, name string, req CopyRequest) (Done, error) {
	return call[Done](ctx, c, http.MethodPost, target(name, "copy"), req)
}

// Kill ends the target's instance, every process of it. The controller
// starts the next one if the agent is still wanted. Of the request only the
// instance and the force count: an Instance other than the running one is [ErrRefused],
// and so nothing is ended, as [ErrUnavailable], while the city is degraded, unless it
// is forced; the next instance then starts when the city is not any more.
func (c *Client) Kill(ctx context.Context, name string, req LifecycleRequest) (StopResult, error) {
	return call[StopResult](ctx, c, http.MethodPost, target(name, "kill"), req)
}
