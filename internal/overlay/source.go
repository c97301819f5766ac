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

// item is a file or folder that is staged.
type item struct {
	from string // path of the source, for messages
	dst  string // path in the working directory, with slashes
	dir  bool
	mode fs.FileMode
	root *os.Root // folder that contains name
	name string
}

// stream calls use with a reader of the item's content.
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

// openTree opens a source folder; it returns nil if the folder does not exist.
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

// overlay returns the items of an overlay folder: first those for all agents, then those of each slot.
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

// walk returns the items below a folder of the tree. Their destinations are below dst. skip is called with paths relative to
// the folder.
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

// regular returns the file information of a file or folder. It follows a link to a file inside the tree. Anything else is
// skipped with a warning.
func (t *tree) regular(name string, entry fs.DirEntry) (fs.FileInfo, bool) {
	info, err := entry.Info()
	link := err == nil && info.Mode()&fs.ModeSymlink != 0
	if link {
		info, err = t.root.Stat(name)
	}
	switch full := filepath.Join(t.path, name); {
	case err != nil && link:
		t.warn("%s is skipped: the symbolic link has no target in the overlay", full)
	case err != nil:
		t.warn("%s is skipped: %v", full, err)
	case link && info.IsDir():
		t.warn("%s is skipped: it is a symbolic link to a folder", full)
	case !info.IsDir() && !info.Mode().IsRegular():
		t.warn("%s is skipped: it is neither a file nor a folder", full)
	default:
		return info, true
	}
	return nil, false
}
