package control

import "errors"

// What a caller branches on. A failed command is a [*CommandError] that wraps one
// of them when its text is known.
var (
	// ErrNoTmux: the program is not there. The error names the PATH that was searched.
	ErrNoTmux = errors.New("tmux is not installed")
	// ErrTooOld: the program is a tmux before 3.0. No server was started.
	ErrTooOld = errors.New("tmux is too old")
	// ErrSocketPath: the path of the socket cannot be used; nothing was tried.
	ErrSocketPath = errors.New("unusable tmux socket path")
	// ErrNoServer: no server listens at the socket. Nothing was done.
	ErrNoServer = errors.New("no tmux server")
	// ErrServerLost: the server that this client knew has ended. Sticky until Start or Attach.
	ErrServerLost = errors.New("tmux server lost")
	// ErrInterrupted: the connection broke before the reply came. Whether the command was
	// carried out is unknown.
	ErrInterrupted = errors.New("connection to the tmux server broke before the reply")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("tmux client is closed")
	// ErrBusy: 65,536 commands await a reply; the server does not answer. Nothing was sent.
	ErrBusy = errors.New("tmux does not answer")
	// ErrNotFound: the target (session, window, pane, client or buffer) does not exist.
	ErrNotFound = errors.New("no such tmux target")
	// ErrExists: a session or window of that name exists already.
	ErrExists = errors.New("tmux target exists already")
	// ErrUnknown: this tmux does not know the command, flag, option or hook.
	ErrUnknown = errors.New("unknown to this tmux")
	// ErrWord: a word cannot be written in a command line, for example because it holds a
	// NUL byte. Nothing was sent.
	ErrWord = errors.New("word cannot be sent to tmux")
)

// CommandError is a command that tmux refused.
type CommandError struct {
	// Command is the name of the command.
	Command string
	// Text is what tmux said, without its final newline.
	Text string
	// Err is ErrNotFound, ErrExists or ErrUnknown, or nil when the text is none of ours.
	Err error
}

func (e *CommandError) Error() string { return "tmux " + e.Command + ": " + e.Text }

func (e *CommandError) Unwrap() error { return e.Err }
