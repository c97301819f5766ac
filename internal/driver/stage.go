package driver

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"gascity/internal/overlay"
	"gascity/runtime"
)

// StageFiles returns a function for [StartSequence.Stage], for drivers whose agents run on this machine. The function copies
// overlays and files into the working directory, and logs a warning for each file that it did not overwrite.
func StageFiles(logger *slog.Logger) func(ctx context.Context, cfg runtime.Config) error {
	return func(ctx context.Context, cfg runtime.Config) error {
		dirs := append(slices.Clip(cfg.PackOverlayDirs), cfg.OverlayDir)
		report, err := overlay.Stage(ctx, overlay.Request{
			WorkDir: cfg.WorkDir, PackOverlayDirs: cfg.PackOverlayDirs, OverlayDir: cfg.OverlayDir,
			Slots: runtime.EffectiveOverlayProviderNames(cfg, dirs...), CopyFiles: cfg.CopyFiles,
		})
		for _, warning := range report.Warnings {
			logger.Warn(warning, "work_dir", cfg.WorkDir)
		}
		return err
	}
}

// StoreWarnings returns the [StartSequence.Warn] of a start of the session. It logs each warning and stores all of them in the
// session's metadata.
func StoreWarnings(logger *slog.Logger, session string, store runtime.MetaStore) func(error) {
	var warnings []string
	return func(err error) {
		logger.Warn("start continued after a failure", "session", session, "error", err)
		warnings = append(warnings, BriefError(err))
		if err := store.SetMeta(session, MetaWarning, strings.Join(warnings, "\n")); err != nil {
			logger.Warn("cannot store the warnings of the start", "session", session, "error", err)
		}
	}
}
