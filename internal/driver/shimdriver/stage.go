package shimdriver

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"gascity/internal/fsutil/archive"
	"gascity/internal/overlay"
	"gascity/runtime"
)

// stageFiles copies overlays and files into the working directory. It logs a warning for each file that it kept instead of
// overwriting it.
func (s *Sessions) stageFiles(ctx context.Context, cfg runtime.Config) error {
	dirs := append(slices.Clip(cfg.PackOverlayDirs), cfg.OverlayDir)
	report, err := overlay.Stage(ctx, overlay.Request{
		WorkDir: cfg.WorkDir, PackOverlayDirs: cfg.PackOverlayDirs, OverlayDir: cfg.OverlayDir,
		Slots: runtime.EffectiveOverlayProviderNames(cfg, dirs...), CopyFiles: cfg.CopyFiles,
	})
	for _, warning := range report.Warnings {
		s.opts.Logger.Warn(warning, "work_dir", cfg.WorkDir)
	}
	return err
}

// CopyTo implements runtime.Stager.
func (s *Sessions) CopyTo(name, src, relDst string) error {
	ctx, cancel := callContext()
	defer cancel()
	observed, err := s.inspect(ctx, "copy to", name)
	if err != nil || observed.Client == nil {
		return err
	}
	if _, err := os.Lstat(src); errors.Is(err, fs.ErrNotExist) {
		return nil
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
		err = archive.PackFrom(w, observed.Record.WorkDir, src)
	}
	return ErrorOf(op, name, err)
}
