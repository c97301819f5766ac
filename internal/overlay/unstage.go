package overlay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Unstage removes what earlier stagings added to the working directory, if it is unchanged: files, entries in settings files,
// and folders that are empty then. What the user has changed stays and is reported as kept. Without a ledger it does nothing.
func Unstage(ctx context.Context, workDir string) (Report, error) {
	if _, err := os.Lstat(filepath.Join(workDir, ledgerPath)); errors.Is(err, fs.ErrNotExist) {
		return Report{}, nil
	}
	s := &stager{}
	defer s.close()
	return s.withLock(ctx, workDir, func() error {
		for _, name := range slices.Sorted(maps.Keys(s.ledger.Files)) {
			if err := s.removeFile(name); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(s.ledger.Settings)) {
			if err := s.removeSettings(name, s.ledger.Settings[name]); err != nil {
				return err
			}
		}
		for _, dir := range slices.Backward(s.ledger.Dirs) {
			// A folder that has other files stays: Remove then fails.
			_ = s.root.Remove(dir)
		}
		s.ledger.Dirs = nil
		return nil
	})
}

// removeFile removes a staged file if its content is unchanged.
func (s *stager) removeFile(name string) error {
	noted := s.ledger.Files[name]
	delete(s.ledger.Files, name)
	there, err := hashOf(s.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		s.recordKept(name, err.Error())
		return nil
	}
	if there != noted {
		s.recordKept(name, "")
		return nil
	}
	if err := s.root.Remove(name); err != nil {
		return fmt.Errorf("cannot remove %s: %w", name, err)
	}
	s.report.Removed = append(s.report.Removed, name)
	return nil
}

// removeSettings removes the added entries from a settings file. It removes the file if gc created it and nothing else is in it.
func (s *stager) removeSettings(name string, known settings) error {
	info, err := s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		delete(s.ledger.Settings, name)
		return nil
	}
	text, readErr := s.root.ReadFile(name)
	if err == nil && readErr == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err := errors.Join(err, readErr); err != nil {
		s.recordKept(name, err.Error())
		return nil
	}
	rest, err := unmerge(text, known.Added, known.Gaps)
	if err != nil {
		s.recordKept(name, err.Error())
		return nil
	}
	switch {
	case known.Created && canonical(rest) == "{}":
		err = s.root.Remove(name)
	case bytes.Equal(rest, text):
		delete(s.ledger.Settings, name)
		return nil
	default:
		err = writeFile(s.root, name, file{bytes.NewReader(rest), info.Mode(), hash(text)}, replaceSame)
	}
	if err != nil {
		return fmt.Errorf("cannot remove the entries of gc from %s: %w", name, err)
	}
	delete(s.ledger.Settings, name)
	s.report.Removed = append(s.report.Removed, name)
	return nil
}
