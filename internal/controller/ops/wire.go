package ops

import (
	"errors"
	"fmt"

	"gascity/client"
	"gascity/internal/terminal/vt"
	"gascity/runtime"
)

// Wire returns a provider's error as an error of the control API.
func Wire(err error) error {
	if _, ok := errors.AsType[*vt.KeyError](err); ok {
		return fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	for _, row := range []struct{ from, to error }{
		{runtime.ErrSessionNotFound, client.ErrRefused},
		{runtime.ErrStaleInstance, client.ErrRefused},
		{runtime.ErrRuntimeUnavailable, client.ErrUnavailable},
		{runtime.ErrInputUnsupported, client.ErrUnsupported},
		{runtime.ErrAttachUnsupported, client.ErrUnsupported},
	} {
		if errors.Is(err, row.from) {
			return fmt.Errorf("%w: %w", row.to, err)
		}
	}
	return err
}
