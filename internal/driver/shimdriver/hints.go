package shimdriver

import (
	"context"
	"errors"

	"gascity/internal/shim"
	"gascity/internal/terminal/screen"
	"gascity/runtime"
)

// SetHints implements runtime.Hinter.
func (s *Sessions) SetHints(ctx context.Context, name, instance string, hints runtime.Hints) error {
	const op = "set the hints of"
	if s.host != nil { // the host program reports when the agent is ready
		return &runtime.Error{Op: op, Session: name, Err: errors.ErrUnsupported}
	}
	observed, err := s.live(ctx, op, name)
	switch {
	case err != nil:
		return err
	case instance != "" && instance != observed.Token:
		return &runtime.Error{Op: op, Session: name, Err: runtime.ErrStaleInstance}
	}
	return ErrorOf(op, name, observed.Client.SetHints(ctx, shim.Hints{
		ProcessNames: hints.ProcessNames, Labels: screen.HintedLabels(observed.Record.Labels, hints),
	}))
}
