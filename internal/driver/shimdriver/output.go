package shimdriver

import (
	"errors"

	"gascity/internal/driver"
	"gascity/internal/shim"
	"gascity/runtime"
)

// Peek implements runtime.Output.
func (s *Sessions) Peek(name string, lines int) (string, error) {
	ctx, cancel := driver.CallContext()
	defer cancel()
	observed, err := s.inspect(ctx, "peek at", name)
	if err != nil {
		return "", err
	}
	if observed.Client != nil {
		text, err := observed.Client.Text(ctx, lines)
		if !errors.Is(err, shim.ErrNoShim) {
			return text, ErrorOf("peek at", name, err)
		}
		if observed, err = s.inspect(ctx, "peek at", name); err != nil {
			return "", err
		}
	}
	if observed.ExitRecord != nil {
		return tail(observed.ExitRecord.Text, lines), nil
	}
	return "", &runtime.Error{Op: "peek at", Session: name, Err: runtime.ErrSessionNotFound}
}

// ClearScrollback implements runtime.Output.
func (s *Sessions) ClearScrollback(name string) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	observed, err := s.inspect(ctx, "clear", name)
	if err != nil || observed.Client == nil {
		return err
	}
	if err := observed.Client.Clear(ctx); !errors.Is(err, shim.ErrNoShim) {
		return ErrorOf("clear", name, err)
	}
	return nil
}
