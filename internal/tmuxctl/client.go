package tmuxctl

import (
	"context"
	"log/slog"
	"time"
)

// Options of a client. Only Socket is required.
type Options struct {
	// Socket is the absolute path of the server's socket, at most 103 bytes. Its folder is made
	// with mode 0700 when the server is started; one that others may enter is refused.
	Socket string
	// Binary is the program: a path, or a name that is looked up in Path. Default "tmux".
	Binary string
	// Path is the list of folders for Binary, as in PATH. Default: PATH of Env.
	Path string
	// Config is the configuration file of the server. Default: none, not the user's.
	Config string
	// Env is the whole environment of the server and of our client; nothing is inherited. Panes
	// get it too, so it must hold no secret. TERM and a UTF-8 LC_CTYPE are added when they are missing.
	Env []string
	// Hub is the name of our own session. Default "gc-hub".
	Hub string
	// Width and Height are the size of the hub. Default 200x50.
	Width, Height int
	// Logger gets connections, losses and unknown notifications. Default: none.
	Logger *slog.Logger
}

// Server identifies one life of a server.
type Server struct {
	// PID is its process.
	PID int
	// Started is when it says it was started, to the second.
	Started time.Time
	// Version is what it calls itself, such as "3.3a". Branch on Features instead.
	Version string
}

// Features is what a server can do, found by asking it.
type Features struct {
	// Pause: panes that print faster than we read are paused and continued (3.2).
	Pause bool
	// Monitors: Monitor works (3.2).
	Monitors bool
	// IgnoreSize: our client has no say in the size of windows by its own flag (3.2).
	IgnoreSize bool
	// SessionEnv: new-session and respawn-pane know -e (3.2, 3.0).
	SessionEnv bool
	// Buffers: BufferChanged and BufferDeleted are told (3.4).
	Buffers bool
}

// New returns a client. It does no I/O. Errors: ErrSocketPath.
func New(options Options) (*Client, error) { return newClient(options) }

// Start takes up the server that listens at the socket, or starts one: a stale socket
// is replaced, a live one never; two processes that start at once end with one
// server. It returns when commands are answered, and does nothing when they already
// are. After ErrServerLost it is the way to begin anew. Errors: ErrNoTmux, ErrSocketPath, ErrClosed, the
// cause of ctx, or what tmux said.
func (c *Client) Start(ctx context.Context) (Server, error) { return c.start(ctx) }

// Attach is Start without starting a server: ErrNoServer when nobody listens.
func (c *Client) Attach(ctx context.Context) (Server, error) { return c.attach(ctx) }

// Do sends the commands at once and returns one reply for each, in order. They are
// independent: one that fails does not stop the next. The error is the first of the
// replies; replies are there beside it. Any number of goroutines may call it; their
// commands are interleaved, those of one call keep their order.
//
// A client that was never connected takes up a server that listens. While the
// connection is being mended Do waits, until ctx ends. When ctx ends after the
// commands were sent, they may still be carried out. Commands that wait (run-shell
// and if-shell without -b, wait-for, display-popup) hold up everybody: do not send them.
//
// Errors: *CommandError, ErrWord, ErrNoServer, ErrServerLost, ErrInterrupted, ErrNoTmux, ErrClosed, the
// cause of ctx.
func (c *Client) Do(ctx context.Context, commands ...Command) ([]Reply, error) {
	return c.do(ctx, commands)
}

// Output is Do of one command whose output is wanted.
func (c *Client) Output(ctx context.Context, command Command) ([]byte, error) {
	replies, err := c.do(ctx, []Command{command})
	if err != nil {
		return nil, err
	}
	return replies[0].Output, nil
}

// Server returns the server that this client is connected to or was connected to
// last, and its features. It asks nobody; ok is false before the first connection and after a loss.
func (c *Client) Server() (server Server, features Features, ok bool) { return c.serverNow() }

// Hub is the name of our session. A window linked into it (link-window -d -s SOURCE -t
// "=HUB:") is heard.
func (c *Client) Hub() string { return c.options.Hub }

// Signal returns a command for a hook (set-hook) or a key: when tmux carries it out, each
// subscription gets a Signal whose Text is the format, evaluated there. It works in all
// versions, within milliseconds. The text must not be empty.
func (c *Client) Signal(format string) Command { return c.signal(format) }

// Monitor watches a format: a Monitored event comes with its first value and within
// about a second of each change. The target is a pane ("%1"), a window ("@1"), "%*"
// all panes, "@*" all windows of the hub, or "" the hub. Monitors outlive reconnections. The name holds
// letters, digits, `-` and `_`. Errors: ErrUnknown where Features.Monitors is false, and those of Do.
func (c *Client) Monitor(ctx context.Context, name, target, format string) error {
	return c.monitor(ctx, name, target, format)
}

// Unmonitor ends a monitor; one that is not there is no error.
func (c *Client) Unmonitor(ctx context.Context, name string) error { return c.unmonitor(ctx, name) }

// LoadBuffer puts the text into a new paste buffer and returns its name. The text goes
// through a file of mode 0600 beside the socket that is removed at once, never through
// arguments. Paste it with Cmd("paste-buffer", "-p", "-d", "-b", name, "-t", pane), or
// give it up with Cmd("delete-buffer", "-b", name). An empty text and a NUL byte are
// ErrWord. Errors as for Do.
func (c *Client) LoadBuffer(ctx context.Context, text []byte) (name string, err error) {
	return c.loadBuffer(ctx, text)
}

// Close ends our process and waits for it and for everything that was started; the
// server lives on. Calls in flight fail with ErrClosed. When ctx ends first the process is
// killed without waiting for its farewell. It may be called twice.
func (c *Client) Close(ctx context.Context) error { return c.close(ctx) }

// Literal writes a text so that a format yields it unchanged: each # is doubled.
func Literal(text string) string { return literal(text) }
