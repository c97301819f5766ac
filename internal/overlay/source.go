package overlay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// item is a file or folder to stage.
type item struct {
	from string // for messages
	dst  string // in the working directory, with slashes
	dir  bool
	mode fs.FileMode
	root *os.Root // where name is
	name string
}

// read returns the content of an item that is small. It never leaves its source folder.
func (i item) read() ([]byte, error) {
	f, err := i.root.Open(i.name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// stream passes the item's content to use, piece by piece.
func (i item) stream(use func(content io.Reader) error) error {
	f, err := i.root.Open(i.name)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", i.from, err)
	}
	return errors.Join(use(f), f.Close())
}

// tree is an open source folder.
type tree struct {
	path string
	root *os.Root
	warn func(format string, args ...any)
}

// openTree opens a source folder; nil if there is none.
func openTree(dir string, warn func(string, ...any)) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open overlay %s: %w", dir, err)
	}
	return &tree{dir, root, warn}, nil
}

const perProvider = "per-provider"

// overlay lists what an overlay holds: first what is for everybody, then each
// slot.
func (t *tree) overlay(slots []string) ([]item, error) {
	items, err := t.walk(".", "", func(rel string) bool {
		return rel == perProvider || rel == stateDir
	})
	if err != nil {
		return nil, err
	}
	for _, slot := range slots {
		from := path.Join(perProvider, slot)
		if slot == "" || strings.ContainsAny(slot, `/\`) || !filepath.IsLocal(slot) {
			continue
		}
		if info, err := t.root.Stat(from); err != nil || !info.IsDir() {
			continue
		}
		more, err := t.walk(from, "", func(rel string) bool { return rel == stateDir })
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	return items, nil
}

// walk lists what is below a folder of the tree, to be put below dst. The
// function skip is asked with paths relative to the folder.
func (t *tree) walk(from, dst string, skip func(rel string) bool) ([]item, error) {
	var items []item
	err := fs.WalkDir(t.root.FS(), from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := name
		if from != "." {
			rel = strings.TrimPrefix(strings.TrimPrefix(name, from), "/")
		}
		if name == from {
			return nil
		}
		if skip(rel) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, ok := t.regular(name, entry)
		if ok {
			items = append(items, item{
				from: filepath.Join(t.path, name), dst: path.Join(dst, rel), dir: info.IsDir(),
				mode: info.Mode(), root: t.root, name: name,
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read overlay %s: %w", t.path, err)
	}
	return items, nil
}

// regular returns the file information of a file or folder, following a link to
// a file inside the tree. Anything else is left out with a warning.
func (t *tree) regular(name string, entry fs.DirEntry) (fs.FileInfo, bool) {
	info, err := entry.Info()
	link := err == nil && info.Mode()&fs.ModeSymlink != 0
	if link {
		info, err = t.root.Stat(name)
	}
	switch full := filepath.Join(t.path, name); {
	case err != nil && link:
		t.warn("%s is left out: the symbolic link has no target in the overlay", full)
	case err != nil:
		t.warn("%s is left out: %v", full, err)
	case link && info.IsDir():
		t.warn("%s is left out: it is a symbolic link to a folder", full)
	case !info.IsDir() && !info.Mode().IsRegular():
		t.warn("%s is left out: it is neither a file nor a folder", full)
	default:
		return info, true
	}
	return nil, false
}
