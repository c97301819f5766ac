package shimdriver

import (
	"context"
	"errors"

	"gascity/internal/driver"
	"gascity/internal/shim"
)

// SetMeta implements runtime.MetaStore.
func (s *Sessions) SetMeta(name, key, value string) error {
	return s.meta("set metadata of", name, func(ctx context.Context, c *shim.Client) error { return c.SetMeta(ctx, key, value) })
}

// GetMeta implements runtime.MetaStore.
func (s *Sessions) GetMeta(name, key string) (value string, err error) {
	err = s.meta("read metadata of", name, func(ctx context.Context, c *shim.Client) (err error) {
		value, _, err = c.Meta(ctx, key)
		return err
	})
	return value, err
}

// RemoveMeta implements runtime.MetaStore.
func (s *Sessions) RemoveMeta(name, key string) error {
	return s.meta("remove metadata of", name, func(ctx context.Context, c *shim.Client) error { return c.RemoveMeta(ctx, key) })
}

// meta calls do with a client of the session, if its agent runs.
func (s *Sessions) meta(op, name string, do func(context.Context, *shim.Client) error) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	if _, client, ok := s.recorded(name); ok {
		err := do(ctx, client)
		if !errors.Is(err, shim.ErrNoShim) && !errors.Is(err, shim.ErrStale) {
			return ErrorOf(op, name, err)
		}
	}
	l, err := s.Session(ctx, op, name)
	if err != nil {
		return err
	}
	return ErrorOf(op, name, do(ctx, l.Client))
}
