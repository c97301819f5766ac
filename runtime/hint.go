package runtime

import (
	"context"
	"errors"
)

// Hints are the fields of a [Config] that only configure how an agent is observed. They are in no
// fingerprint, and a change needs no restart.
type Hints struct {
	ReadyPromptPrefix string   `json:"ready_prompt_prefix,omitempty"`
	ProcessNames      []string `json:"process_names,omitempty"`
}

// Hints returns the hints of the configuration.
func (c Config) Hints() Hints { return Hints{c.ReadyPromptPrefix, c.ProcessNames} }

// Hinter is the extension of drivers that can change the hints of a running session.
type Hinter interface {
	// SetHints replaces the hints that the session was started with. They apply to this instance,
	// also for later controllers. Nothing is sent to the agent. The same hints again change
	// nothing. instance is the token of the target instance; empty means the current one. It
	// returns [ErrSessionNotFound] if the session is missing, and [ErrStaleInstance] if instance is
	// not the current token.
	SetHints(ctx context.Context, name, instance string, hints Hints) error
}

// SetHints changes the hints of a running session. Without the extension it returns an error that
// matches [errors.ErrUnsupported]; the hints then apply at the next start.
func SetHints(ctx context.Context, p Provider, name, instance string, hints Hints) error {
	if h, ok := As[Hinter](p, name); ok {
		return h.SetHints(ctx, name, instance, hints)
	}
	return &Error{Op: "set the hints of", Session: name, Err: errors.ErrUnsupported}
}
