package overlay

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"gascity/runtime"
)

// Request says what to stage. WorkDir is required and must exist.
type Request struct {
	WorkDir string
	// PackOverlayDirs are staged before OverlayDir. A folder that is not there
	// is no error.
	PackOverlayDirs []string
	OverlayDir      string
	// Slots are the per-provider folders to take, in order; see
	// runtime.EffectiveOverlayProviderNames.
	Slots []string
	// CopyFiles are staged last. A missing source is an error.
	CopyFiles []runtime.CopyEntry
}

// Report is the result for the files, by their paths in the working directory, with
// slashes and sorted. A file that was already as it should be is in none of the
// lists.
type Report struct {
	Written  []string // new, or brought up to date
	Merged   []string // settings that we added to
	Kept     []string // the user's, different from ours: left alone
	Removed  []string // by Unstage
	Warnings []string // for people
}

//go:embed settings.txt
var settingsText string

// mergeable reports whether a path is that of a known JSON settings file.
func mergeable(name string) bool { return slices.Contains(strings.Fields(settingsText), name) }

// Stage stages overlays and copied files by the rules of this package. A second
// time with the same request writes nothing. When it fails, what was staged
// before the failure stays, complete file by complete file, and is noted.
func Stage(ctx context.Context, req Request) (Report, error) {
	if len(req.PackOverlayDirs) == 0 && req.OverlayDir == "" && len(req.CopyFiles) == 0 {
		return Report{}, nil
	}
	s := &stager{}
	defer s.close()
	items, err := s.collect(req)
	if err != nil || len(items) == 0 {
		return s.finish(err)
	}
	return s.withLock(ctx, req.WorkDir, func() error { return s.items(ctx, items) })
}

// stager does one staging.
type stager struct {
	root   *os.Root
	ledger *ledger
	report Report
	open   []*os.Root // sources
}

func (s *stager) warn(format string, args ...any) {
	s.report.Warnings = append(s.report.Warnings, fmt.Sprintf(format, args...))
}

func (s *stager) close() {
	for _, root := range s.open {
		root.Close() //nolint:errcheck // nothing was written through it
	}
}

// withLock runs act in the locked working directory and saves what it noted, also when
// it fails.
func (s *stager) withLock(ctx context.Context, workDir string, act func() error) (Report, error) {
	root, err := os.OpenRoot(workDir)
	if err != nil {
		return s.finish(fmt.Errorf("cannot stage: %w", err))
	}
	s.root = root
	s.open = append(s.open, root)
	unlock, err := lock(ctx, root)
	if err != nil {
		return s.finish(err)
	}
	s.ledger, err = readLedger(root)
	if err != nil {
		s.warn("%v", err)
	}
	err = act()
	if err == nil || len(s.report.Written)+len(s.report.Merged) > 0 {
		err = errors.Join(err, ignoreState(root), s.ledger.save(root))
	}
	return s.finish(errors.Join(err, unlock()))
}

func (s *stager) finish(err error) (Report, error) {
	for _, list := range []*[]string{&s.report.Written, &s.report.Merged, &s.report.Kept, &s.report.Removed} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s.report, err
}

// collect lists everything to stage. Of several items with one destination the
// last one counts, except that settings are all merged.
func (s *stager) collect(req Request) ([]item, error) {
	dirs := req.PackOverlayDirs
	if req.OverlayDir != "" {
		dirs = append(slices.Clone(dirs), req.OverlayDir)
	}
	var items []item
	for _, dir := range dirs {
		t, err := openTree(dir, s.warn)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		s.open = append(s.open, t.root)
		found, err := t.overlay(req.Slots)
		if err != nil {
			return nil, err
		}
		items = append(items, found...)
	}
	for _, entry := range req.CopyFiles {
		found, err := s.copied(req.WorkDir, entry)
		if err != nil {
			return nil, fmt.Errorf("cannot copy %s: %w", entry.Src, err)
		}
		items = append(items, found...)
	}
	return items, nil
}

func (s *stager) items(ctx context.Context, items []item) error {
	last := map[string]int{}
	layers := map[string][]item{}
	for i, it := range items {
		last[it.dst] = i
		layers[it.dst] = append(layers[it.dst], it)
	}
	for i, it := range items {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if last[it.dst] != i {
			continue
		}
		var err error
		if mergeable(it.dst) && !it.dir {
			err = s.settings(it.dst, layers[it.dst])
		} else {
			err = s.item(it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
