package runtime

import "context"

// ExecProvider is the extension of drivers that can run a command inside the
// session's box.
type ExecProvider interface {
	// Exec runs argv without a shell. output is its standard output, verbatim;
	// code its exit code, which is no error. A non-nil error says that the
	// command could not be run at all, or is [ErrExecUnsupported] if the box
	// cannot.
	Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error)
}

// Exec runs a command in the session's box. Without the extension the error
// matches [ErrExecUnsupported].
func Exec(ctx context.Context, p Provider, name string, argv []string) (output []byte, code int, err error) {
	if e, ok := As[ExecProvider](p, name); ok {
		return e.Exec(ctx, name, argv)
	}
	return nil, 0, &Error{Op: "exec in", Session: name, Err: ErrExecUnsupported}
}
