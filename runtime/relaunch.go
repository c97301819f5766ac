package runtime

import "context"

// RelaunchProvider is the extension of drivers that can start the agent again
// in its warm box: same place, same environment, same files.
type RelaunchProvider interface {
	// Relaunch replaces the agent's process by that of another instance, with the
	// instance token of cfg.Env or a new one: what names the previous one is
	// [ErrStaleInstance] from before the new process's first byte on. A driver that
	// cannot give it another token must not have this extension.
	// [ErrSessionNotFound] if the box is missing.
	Relaunch(ctx context.Context, name string, cfg Config) error
}

// Relaunch starts the agent again in its box. Without the extension the error
// matches [ErrRelaunchUnsupported], and the caller stops and starts.
func Relaunch(ctx context.Context, p Provider, name string, cfg Config) error {
	if r, ok := As[RelaunchProvider](p, name); ok {
		return r.Relaunch(ctx, name, cfg)
	}
	return &Error{Op: "relaunch", Session: name, Err: ErrRelaunchUnsupported}
}
