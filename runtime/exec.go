package runtime

import "context"

// ExecProvider is the extension of drivers that can run a command in the session's sandbox: the
// tmux session, container or pod in which the agent runs.
type ExecProvider interface {
	// Exec runs argv without a shell. output is its standard output, unchanged. code is its exit
	// code; a nonzero code is not an error. An error means that the command could not be run, and
	// matches [ErrExecUnsupported] if the backend cannot run commands.
	Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error)
}

// Exec runs a command in the session's sandbox. If the provider does not implement [ExecProvider],
// the error matches [ErrExecUnsupported].
func Exec(ctx context.Context, p Provider, name string, argv []string) (output []byte, code int, err error) {
	if e, ok := As[ExecProvider](p, name); ok {
		return e.Exec(ctx, name, argv)
	}
	return nil, 0, &Error{Op: "exec in", Session: name, Err: ErrExecUnsupported}
}
