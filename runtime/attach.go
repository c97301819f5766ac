package runtime

import (
	"context"
	"errors"
)

// AttachOptions say how a person's terminal is connected.
type AttachOptions struct {
	// ReadOnly shows the session and sends nothing to it, also not its size.
	ReadOnly bool
	// DetachKeys are the sequences that end the attach, each a list of key names
	// separated by spaces. Empty means "C-b d" and "C-\".
	DetachKeys []string
}

// Attacher is the extension of drivers whose attach can be configured and
// cancelled.
type Attacher interface {
	// AttachTerminal is Attach with options. It also ends with ctx.
	AttachTerminal(ctx context.Context, name string, opts AttachOptions) error
}

// AttachTerminal connects the calling process's terminal. Without the extension
// it is Attach, and options that this cannot keep are an error matching
// [errors.ErrUnsupported].
func AttachTerminal(ctx context.Context, p Provider, name string, opts AttachOptions) error {
	if a, ok := As[Attacher](p, name); ok {
		return a.AttachTerminal(ctx, name, opts)
	}
	if opts.ReadOnly || len(opts.DetachKeys) > 0 {
		return &Error{Op: "attach to", Session: name, Err: errors.ErrUnsupported}
	}
	return p.Attach(name)
}
