package tmuxserver

import "errors"

// Errors that callers can test for with [errors.Is]. A failed command is a [*CommandError], which wraps one of them if
// its text is known.
var (
	// ErrNoTmux: the tmux program was not found. The error names the PATH that was searched.
	ErrNoTmux = errors.New("tmux is not installed")
	// ErrTooOld: the program is older than tmux 3.0. No server was started.
	ErrTooOld = errors.New("tmux is too old")
	// ErrSocketPath: the path of the socket cannot be used. Nothing was sent.
	ErrSocketPath = errors.New("unusable tmux socket path")
	// ErrNoServer: no server listens at the socket. Nothing was done.
	ErrNoServer = errors.New("no tmux server")
	// ErrServerLost: the server that this client was connected to has exited. All calls fail with it until Start or
	// Attach.
	ErrServerLost = errors.New("tmux server lost")
	// ErrInterrupted: the connection broke before the reply arrived. It is unknown whether the server ran the
	// command.
	ErrInterrupted = errors.New("connection to the tmux server broke before the reply")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("tmux client is closed")
	// ErrBusy: 65,536 commands wait for a reply, because the server does not answer. Nothing was sent.
	ErrBusy = errors.New("tmux does not answer")
	// ErrNotFound: the target (session, window, pane, client or buffer) does not exist.
	ErrNotFound = errors.New("no such tmux target")
	// ErrExists: a session or window of that name exists already.
	ErrExists = errors.New("tmux target exists already")
	// ErrWord: a word cannot be sent in a command line, for example because it contains a NUL byte. Nothing was sent.
	ErrWord = errors.New("word cannot be sent to tmux")
)

// CommandError is the error of a command that tmux has refused.
type CommandError struct {
	// Command is the name of the command.
	Command string
	// Text is the error message of tmux, without its final newline.
	Text string
	// Err is ErrNotFound or ErrExists, or nil for another text.
	Err error
}

// Error implements error.
func (e *CommandError) Error() string { return "tmux " + e.Command + ": " + e.Text }

// Unwrap returns Err.
func (e *CommandError) Unwrap() error { return e.Err }
