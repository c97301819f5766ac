package tmux

import "errors"

// Errors that callers can test for with [errors.Is]. A failed command is a [*commandError], which wraps one of them if
// its text is known.
var (
	// errNoTmux: the tmux program was not found. The error names the PATH that was searched.
	errNoTmux = errors.New("tmux is not installed")
	// errTooOld: the program is older than tmux 3.0. No server was started.
	errTooOld = errors.New("tmux is too old")
	// errSocketPath: the path of the socket cannot be used. Nothing was sent.
	errSocketPath = errors.New("unusable tmux socket path")
	// errNoServer: no server listens at the socket. Nothing was done.
	errNoServer = errors.New("no tmux server")
	// errServerLost: the server that this client was connected to has exited. All calls fail with it until Start or
	// Attach.
	errServerLost = errors.New("tmux server lost")
	// errInterrupted: the connection broke before the reply arrived. It is unknown whether the server ran the
	// command.
	errInterrupted = errors.New("connection to the tmux server broke before the reply")
	// errClosed: the client was closed.
	errClosed = errors.New("tmux client is closed")
	// errBusy: 65,536 commands wait for a reply, because the server does not answer. Nothing was sent.
	errBusy = errors.New("tmux does not answer")
	// errNotFound: the target (session, window, pane, client or buffer) does not exist.
	errNotFound = errors.New("no such tmux target")
	// errExists: a session or window of that name exists already.
	errExists = errors.New("tmux target exists already")
	// errWord: a word cannot be sent in a command line, for example because it contains a NUL byte. Nothing was sent.
	errWord = errors.New("word cannot be sent to tmux")
)

// commandError is the error of a command that tmux has refused.
type commandError struct {
	// Command is the name of the command.
	Command string
	// Text is the error message of tmux, without its final newline.
	Text string
	// Err is errNotFound or errExists, or nil for another text.
	Err error
}

// Error implements error.
func (e *commandError) Error() string { return "tmux " + e.Command + ": " + e.Text }

// Unwrap returns Err.
func (e *commandError) Unwrap() error { return e.Err }
