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

// Request describes what to stage. WorkDir is required and must exist.
type Request struct {
	WorkDir string
	// PackOverlayDirs are staged before OverlayDir. A folder that does not exist is no error.
	PackOverlayDirs []string
	OverlayDir      string
	// Slots are the names of per-provider folders to stage, in order; see runtime.EffectiveOverlayProviderNames.
	Slots []string
	// CopyFiles are staged last. A missing source is an error.
	CopyFiles []runtime.CopyEntry
}

// Report is the result of a staging. The lists hold paths relative to the working directory, with slashes, sorted. A file that
// was already up to date is in none of the lists.
type Report struct {
	Written  []string // new or updated files
	Merged   []string // settings files that were added to
	Kept     []string // files of the user with different content, which were not changed
	Warnings []string // for people
}

//go:embed settings.txt
var settingsText string

// mergeable reports whether a path is the path of a known JSON settings file.
func mergeable(name string) bool { return slices.Contains(strings.Fields(settingsText), name) }

// Stage stages overlays and copied files by the rules of this package. A repeated call with the same request writes nothing. If
// it fails, the files that were already staged stay and are recorded; each of them is complete.
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

// stager runs one staging.
type stager struct {
	root   *os.Root
	ledger *ledger
	report Report
	open   []*os.Root // source folders to close
}

func (s *stager) warn(format string, args ...any) {
	s.report.Warnings = append(s.report.Warnings, fmt.Sprintf(format, args...))
}

func (s *stager) close() {
	for _, root := range s.open {
		root.Close() //nolint:errcheck // nothing was written through it
	}
}

// withLock locks the working directory, runs act, and saves the ledger, also if act fails after it has changed files.
func (s *stager) withLock(ctx context.Context, workDir string, act func() error) (Report, error) {
	root, err := os.OpenRoot(workDir)
	if err != nil {
		return s.finish(fmt.Errorf("cannot copy files into the working directory: %w", err))
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

// finish sorts the lists of the report, removes duplicates, and returns the report with err.
func (s *stager) finish(err error) (Report, error) {
	for _, list := range []*[]string{&s.report.Written, &s.report.Merged, &s.report.Kept} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return s.report, err
}

// collect returns all items to stage. If several items have the same destination, the last one is used later, but all layers of
// a settings file are merged.
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

// items stages all items. A settings file is staged with all its layers, any other destination with its last item.
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
