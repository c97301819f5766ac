package runtime

import (
	"context"
	"errors"
	"strings"
)

// AttachOptions configure the connection of a person's terminal.
type AttachOptions struct {
	// ReadOnly shows the session and sends nothing to it, not even the terminal's size.
	ReadOnly bool
	// DetachKeys are the key sequences that end the attachment. Each is a list of key names
	// separated by spaces. Empty means "C-b d" and "C-\".
	DetachKeys []string
}

// Attacher is the extension of drivers whose attach can be configured and
// cancelled.
type Attacher interface {
	// AttachTerminal is Attach with options. It also ends with ctx.
	AttachTerminal(ctx context.Context, name string, opts AttachOptions) error
}

// AttachTerminal connects the calling process's terminal. Without the extension it calls Attach; if
// an option is set, it returns an error that matches [errors.ErrUnsupported].
func AttachTerminal(ctx context.Context, p Provider, name string, opts AttachOptions) error {
	if a, ok := As[Attacher](p, name); ok {
		return a.AttachTerminal(ctx, name, opts)
	}
	if opts.ReadOnly || len(opts.DetachKeys) > 0 {
		return &Error{Op: "attach to", Session: name, Err: errors.ErrUnsupported}
	}
	return p.Attach(name)
}

// KeyNames returns detach keys for people, such as "Ctrl-\\ or Ctrl-b d". Keys have their tmux names, as in [AttachOptions].
func KeyNames(keys []string) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		parts := strings.Fields(key)
		for j, part := range parts {
			if rest, control := strings.CutPrefix(part, "C-"); control {
				parts[j] = "Ctrl-" + rest
			}
		}
		names[i] = strings.Join(parts, " ")
	}
	return strings.Join(names, " or ")
}
