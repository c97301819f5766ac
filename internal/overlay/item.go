package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
)

// item stages one file or folder.
func (s *stager) item(it item) error {
	if reason := blocked(s.root, dirOf(it)); reason != "" {
		s.recordKept(it.dst, reason)
		return nil
	}
	if err := s.makeDirs(it); err != nil || it.dir {
		return err
	}
	return s.place(it)
}

// dirOf returns the folder that must exist before an item is written.
func dirOf(it item) string {
	if it.dir {
		return it.dst
	}
	return path.Dir(it.dst)
}

// makeDirs creates the folder of an item.
func (s *stager) makeDirs(it item) error {
	mode := fs.FileMode(0o755)
	if it.dir {
		mode = it.mode
	}
	if err := makeDirs(s.root, dirOf(it), mode); err != nil {
		return fmt.Errorf("cannot make a folder for %s: %w", it.dst, err)
	}
	return nil
}

// recordKept records that an existing file was not changed. With a reason it also adds a warning.
func (s *stager) recordKept(name, reason string) {
	s.report.Kept = append(s.report.Kept, name)
	if reason != "" {
		s.warn("%s is not changed: %s", name, reason)
	}
}

// place writes one file, unless a file of the user is there.
func (s *stager) place(it item) error {
	policy, old, name := keepAny, "", it.dst
	info, err := s.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		s.recordKept(name, "it exists and is not a regular file")
		return nil
	default:
		there, err := hashOf(s.root, name)
		if err != nil {
			s.recordKept(name, err.Error())
			return nil
		}
		wanted, err := hashOf(it.root, it.name)
		switch {
		case err != nil:
			return fmt.Errorf("cannot read %s: %w", it.from, err)
		case there == wanted:
			return nil
		case s.ledger.Files[name] != there:
			s.recordKept(name, "")
			return nil
		}
		policy, old = replaceSame, there
	}
	sum := sha256.New()
	err = it.stream(func(content io.Reader) error {
		return writeFile(s.root, name, file{io.TeeReader(content, sum), it.mode, old}, policy)
	})
	if policy == keepAny && errors.Is(err, fs.ErrExist) || errors.Is(err, errChanged) {
		s.recordKept(name, "")
		return nil
	}
	if err != nil {
		return err
	}
	s.ledger.Files[name] = hex.EncodeToString(sum.Sum(nil))
	s.report.Written = append(s.report.Written, name)
	return nil
}

// settings stages a settings file: it adds the settings of all layers to the existing file.
func (s *stager) settings(name string, layers []item) error {
	if reason := blocked(s.root, path.Dir(name)); reason != "" {
		s.recordKept(name, reason)
		return nil
	}
	wanted, err := combined(layers)
	if err != nil {
		return err
	}
	if err := s.makeDirs(layers[len(layers)-1]); err != nil {
		return err
	}
	const tries = 5 // another process may write the file at the same time
	for range tries {
		err = s.addSettings(name, wanted, layers[len(layers)-1].mode)
		if !errors.Is(err, errChanged) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return err
}

// addSettings adds the settings in wanted to the existing file. If another process changes or creates the file meanwhile, it
// returns errChanged or fs.ErrExist and changes nothing.
func (s *stager) addSettings(name string, wanted []byte, mode fs.FileMode) error {
	text, policy, known := []byte("{}\n"), keepAny, settings{}
	info, err := s.root.Lstat(name)
	if !errors.Is(err, fs.ErrNotExist) {
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is not a regular file")
		}
		if err == nil {
			text, err = s.root.ReadFile(name)
		}
		if err != nil {
			s.recordKept(name, err.Error())
			return nil
		}
		policy, mode, known = replaceSame, info.Mode(), s.ledger.Settings[name]
	}
	result, known, err := update(text, wanted, known)
	if err != nil {
		s.recordKept(name, err.Error())
		return nil
	}
	if policy == keepAny || !bytes.Equal(result.text, text) {
		if err := writeFile(s.root, name, file{bytes.NewReader(result.text), mode, hash(text)}, policy); err != nil {
			return err
		}
		s.report.Merged = append(s.report.Merged, name)
	}
	for _, conflict := range result.conflicts {
		s.recordKept(name, "the user's "+conflict+" stays")
	}
	s.ledger.Settings[name] = known
	return nil
}

// combined merges the settings of all layers; later layers override earlier ones. A layer that is not valid JSON is an error.
func combined(layers []item) ([]byte, error) {
	wanted := []byte("{}\n")
	for _, layer := range slices.Backward(layers) {
		data, err := layer.root.ReadFile(layer.name)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", layer.from, err)
		}
		m, err := merge(wanted, data)
		if err != nil {
			return nil, fmt.Errorf("the overlay's %s cannot be merged: %w", layer.from, err)
		}
		wanted = m.text
	}
	return wanted, nil
}

// update merges the settings in wanted into text, the content of a settings file. If gc has added different settings at an
// earlier start, it removes these first.
func update(text, wanted []byte, known settings) (merged, settings, error) {
	source := hash(wanted)
	if known.Source != source {
		cleaned, err := unmerge(text, known.Added, known.Gaps)
		if err != nil {
			return merged{}, known, err
		}
		text, known = cleaned, settings{}
	}
	result, err := merge(text, wanted)
	if err != nil {
		return merged{}, known, err
	}
	known.Source = source
	for _, a := range result.added {
		if !slices.ContainsFunc(known.Added, a.same) {
			known.Added = append(known.Added, a)
		}
	}
	known.Gaps = append(known.Gaps, result.gaps...)
	return result, known, nil
}
