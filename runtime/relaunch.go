package runtime

import "context"

// RelaunchProvider is the extension of drivers that can start the agent again in its existing
// sandbox (the warm box), with the same environment and files.
type RelaunchProvider interface {
	// Relaunch replaces the agent's process by a new instance, with the instance token of cfg.Env
	// or a new one. Before the first output of the new process, the old token becomes stale: an
	// operation with it returns [ErrStaleInstance]. A driver that cannot change the token must not
	// have this extension. It returns [ErrSessionNotFound] if the sandbox is missing.
	Relaunch(ctx context.Context, name string, cfg Config) error
}

// Relaunch starts the agent again in its sandbox. Without the extension the error matches
// [ErrRelaunchUnsupported], and the caller must stop and start.
func Relaunch(ctx context.Context, p Provider, name string, cfg Config) error {
	if r, ok := As[RelaunchProvider](p, name); ok {
		return r.Relaunch(ctx, name, cfg)
	}
	return &Error{Op: "relaunch", Session: name, Err: ErrRelaunchUnsupported}
}
