package runtime

import (
	"context"
	"errors"
)

// Hints are the fields of a [Config] that only say how to read an agent: they are in no
// fingerprint, and a change of them needs no restart.
type Hints struct {
	ReadyPromptPrefix string   `json:"ready_prompt_prefix,omitempty"`
	ProcessNames      []string `json:"process_names,omitempty"`
}

// Hints returns the hints of the configuration.
func (c Config) Hints() Hints { return Hints{c.ReadyPromptPrefix, c.ProcessNames} }

// Hinter is the extension of drivers that can change the hints of a session that runs.
type Hinter interface {
	// SetHints replaces the hints that the session was started with. They hold for this
	// instance, also for later controllers; nothing is sent to the agent. The same hints
	// again change nothing. instance is the token of the instance that is meant; empty means
	// whichever runs. [ErrSessionNotFound] if the session is missing, [ErrStaleInstance] if
	// instance is not the current token.
	SetHints(ctx context.Context, name, instance string, hints Hints) error
}

// SetHints changes the hints of a session that runs. Without the extension it returns an error
// that matches [errors.ErrUnsupported]: the hints take effect at the next start.
func SetHints(ctx context.Context, p Provider, name, instance string, hints Hints) error {
	if h, ok := As[Hinter](p, name); ok {
		return h.SetHints(ctx, name, instance, hints)
	}
	return &Error{Op: "set the hints of", Session: name, Err: errors.ErrUnsupported}
}
