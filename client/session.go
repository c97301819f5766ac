package client

import (
	"context"
	"fmt"
	"io"
	"iter"
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

// Output is the text that a session shows.
type Output struct {
	Session string `json:"session"`
	Text    string `json:"text"`
	// EndedAt is set if the agent does not run: Text is the last screen of the instance that ended then.
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Screen is what a session's terminal shows, in one of the styles: Output draws it on a terminal of Cols columns and Rows rows, with
// colors and cursor; Lines are the same as styled text. Secrets that gc knows are masked. In [Client.WatchScreen], a Screen with Cols
// zero is a change: Output updates the terminal on which the ones before were drawn.
type Screen struct {
	Session string       `json:"session"`
	Cols    int          `json:"cols"`
	Rows    int          `json:"rows"`
	Output  string       `json:"output,omitempty"`
	Plain   bool         `json:"plain,omitempty"` // the runtime provider has only the text, without colors and cursor
	Lines   []ScreenLine `json:"lines,omitempty"`
}

// ScreenStyle is how a screen is encoded.
type ScreenStyle string

// The styles of screens.
const (
	StyleOutput ScreenStyle = "output" // output for a terminal emulator
	StyleLines  ScreenStyle = "lines"  // styled text, for readers without a terminal emulator
)

// ScreenLine is one line of a screen. Lines that are empty are left out.
type ScreenLine struct {
	Y     int          `json:"y"` // from 0
	Spans []ScreenSpan `json:"spans"`
}

// ScreenSpan is a part of a line that has one style. Its text has no control characters.
type ScreenSpan struct {
	Text string `json:"text"`
	Cols int    `json:"cols"` // columns of the terminal that the text takes

	// Foreground and Background are "#rrggbb", a number of the palette of 256 colors, or empty: the default color.
	Foreground string `json:"fg,omitempty"`
	Background string `json:"bg,omitempty"`
	Bold       bool   `json:"bold,omitempty"`
	Dim        bool   `json:"dim,omitempty"`
	Italic     bool   `json:"italic,omitempty"`
	Underline  bool   `json:"underline,omitempty"`
	Strike     bool   `json:"strike,omitempty"`
	Reverse    bool   `json:"reverse,omitempty"` // foreground and background are exchanged
}

// ScreenUpdate is what has changed on the screen of one agent.
type ScreenUpdate struct {
	Target string `json:"target"` // as in the request
	Screen
	// All means that the update draws everything: every line that is not in Lines is empty. Without it such a line is unchanged.
	All bool `json:"all,omitempty"`
	// Ended is why there is no screen, or none any more. No update of this target follows.
	Ended string `json:"ended,omitempty"`
	// Problem is the error for which there is no screen; nil after the agent has exited.
	Problem *Problem `json:"problem,omitempty"`
}

// MaxScreens is how many targets one stream of screens may have.
const MaxScreens = 64

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

// MaxCopyOut is the largest archive of [Client.CopyOut], in bytes.
const MaxCopyOut = 4 << 30

// CopyOutRequest names a file or directory in a session's working directory.
type CopyOutRequest struct {
	Path     string `json:"path,omitempty"`     // relative to the working directory; empty: the whole directory
	Plain    bool   `json:"plain,omitempty"`    // the content of one file, not an archive
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
	Seconds   float64 `json:"seconds"` // from the request to the end of the session
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

// Screen returns what the target's terminal shows, with colors. A target that does not run is [ErrRefused].
func (c *Client) Screen(ctx context.Context, name string) (Screen, error) {
	return call[Screen](ctx, c, http.MethodGet, target(name, "screen"), nil)
}

// WatchScreen returns what the target's terminal shows, and then each change, until ctx ends or the caller leaves the loop. The
// sequence ends without an error after the agent has exited. An error is the last value: a target that does not run is
// [ErrRefused]; any other error means that the connection is lost. A slow caller gets fewer changes, each with all that is new.
func (c *Client) WatchScreen(ctx context.Context, name string) iter.Seq2[Screen, error] {
	return func(yield func(Screen, error) bool) {
		for u, err := range c.screens(ctx, []string{name}, StyleOutput) {
			switch {
			case u.Problem != nil:
				yield(Screen{}, u.Problem)
				return
			case u.Ended != "":
				return
			case !u.All:
				u.Cols, u.Rows = 0, 0
			}
			if !yield(u.Screen, err) {
				return
			}
		}
	}
}

// ScreenLines returns what the target's terminal shows, as styled lines.
func (c *Client) ScreenLines(ctx context.Context, name string) (Screen, error) {
	return call[Screen](ctx, c, http.MethodGet, target(name, "screen")+"?style="+string(StyleLines), nil)
}

// Screens returns the screens of at most [MaxScreens] targets as styled lines, and then their changes, until ctx ends or the caller leaves the
// loop. Nothing is sent while nothing changes, and at most three updates of a target in a second: an update has all changes since
// the one before. A target without a screen is an update with Ended; after the last of them the loop ends. An error is the last
// value; a lost connection is an error. The end of ctx yields no value.
func (c *Client) Screens(ctx context.Context, targets []string) iter.Seq2[ScreenUpdate, error] {
	return func(yield func(ScreenUpdate, error) bool) {
		left := map[string]bool{}
		for _, target := range targets {
			left[target] = true
		}
		for u, err := range c.screens(ctx, targets, StyleLines) {
			if u.Ended != "" {
				delete(left, u.Target)
			}
			if !yield(u, err) || len(left) == 0 {
				return
			}
		}
	}
}

// screens opens the stream of screens.
func (c *Client) screens(ctx context.Context, targets []string, style ScreenStyle) iter.Seq2[ScreenUpdate, error] {
	values := url.Values{"target": targets, "style": {string(style)}}
	return watch[ScreenUpdate](ctx, c, "/v1/screens?"+values.Encode(), "screen")
}

// Peek returns the last lines that the target's agent printed. Zero lines means the visible screen.
func (c *Client) Peek(ctx context.Context, name string, lines int) (Output, error) {
	return call[Output](ctx, c, http.MethodGet, fmt.Sprintf("%s?lines=%d", target(name, "peek"), lines), nil)
}

// Logs returns the recorded raw output with its control sequences. The caller must close it. For a
// provider that records nothing the error is [ErrUnsupported].
func (c *Client) Logs(ctx context.Context, name string, q LogQuery) (io.ReadCloser, error) {
	parameters := query(map[string]string{"since": stamp(q.Since.UTC()), "until": stamp(q.Until.UTC()), "follow": flag(q.Follow)})
	return c.open(ctx, http.MethodGet, target(name, "logs")+parameters, nil)
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

// CopyOut returns a file or directory of the target's working directory as a tar archive with one
// root, or with Plain as the content of one file. The caller must close it. A path outside the working
// directory, also through a symbolic link, is an error. The copy is complete only if reading it ends
// without an error. Up to four copies run at a time.
func (c *Client) CopyOut(ctx context.Context, name string, req CopyOutRequest) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, target(name, "copy-out"), req)
}

// Kill stops the target's instance with all its processes. The controller starts the next one if
// the agent must run. It uses only Instance and Force of the request. If Instance is not the
// running instance, the error is [ErrRefused] and nothing is stopped. While the city is degraded,
// the error is [ErrUnavailable] and nothing is stopped, unless Force is set; the next instance then
// starts when the city is not degraded any more.
func (c *Client) Kill(ctx context.Context, name string, req LifecycleRequest) (StopResult, error) {
	return call[StopResult](ctx, c, http.MethodPost, target(name, "kill"), req)
}
