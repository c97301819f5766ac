package shimdriver

import (
	"errors"

	"gascity/internal/shim"
	"gascity/runtime"
)

// Peek implements runtime.Output.
func (s *Sessions) Peek(name string, lines int) (string, error) {
	ctx, cancel := bounded()
	defer cancel()
	sight, err := s.inspect(ctx, "peek at", name)
	if err != nil {
		return "", err
	}
	if sight.Client != nil {
		text, err := sight.Client.Text(ctx, lines)
		if !errors.Is(err, shim.ErrNoShim) {
			return text, ErrorOf("peek at", name, err)
		}
		if sight, err = s.inspect(ctx, "peek at", name); err != nil {
			return "", err
		}
	}
	if sight.ExitRecord != nil {
		return tail(sight.ExitRecord.Text, lines), nil
	}
	return "", &runtime.Error{Op: "peek at", Session: name, Err: runtime.ErrSessionNotFound}
}

// ClearScrollback implements runtime.Output.
func (s *Sessions) ClearScrollback(name string) error {
	ctx, cancel := bounded()
	defer cancel()
	sight, err := s.inspect(ctx, "clear", name)
	if err != nil || sight.Client == nil {
		return err
	}
	if err := sight.Client.Clear(ctx); !errors.Is(err, shim.ErrNoShim) {
		return ErrorOf("clear", name, err)
	}
	return nil
}
