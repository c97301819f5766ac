package shimdriver

import (
	"context"
	"io"

	"gascity/internal/driver"
	"gascity/internal/fsutil"
	"gascity/internal/overlay"
	"gascity/runtime"
)

// CopyTo implements runtime.Stager.
func (s *Sessions) CopyTo(name, src, relDst string) error {
	ctx, cancel := driver.CallContext()
	defer cancel()
	observed, err := s.inspect(ctx, "copy to", name)
	if err != nil || observed.Client == nil {
		return err
	}
	return ErrorOf("copy to", name, overlay.CopyTo(observed.Record.WorkDir, src, relDst))
}

// CopyFrom implements runtime.CopyFromProvider.
func (s *Sessions) CopyFrom(ctx context.Context, name, src string, w io.Writer) error {
	const op = "copy from"
	observed, err := s.inspect(ctx, op, name)
	if err == nil && observed.Client == nil {
		err = runtime.ErrSessionNotFound
	}
	if err == nil {
		err = fsutil.PackArchiveFrom(w, observed.Record.WorkDir, src)
	}
	return ErrorOf(op, name, err)
}
