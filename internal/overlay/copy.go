package overlay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"gascity/runtime"
)

// copied returns the files of one entry. The source itself may be a symbolic link; inside it the rules of overlays apply. If
// RelDst is an existing folder, a file is copied into it under its own name. The content of a source folder is copied into
// RelDst.
func (s *stager) copied(workDir string, entry runtime.CopyEntry) ([]item, error) {
	if entry.RelDst != "" && !filepath.IsLocal(entry.RelDst) {
		return nil, fmt.Errorf("the destination %q is outside the working directory", entry.RelDst)
	}
	info, err := os.Stat(entry.Src)
	if err != nil {
		return nil, err
	}
	dst := path.Clean(filepath.ToSlash(entry.RelDst))
	if info.IsDir() {
		return s.copiedDir(entry.Src, dst, info)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is neither a file nor a folder")
	}
	target := filepath.Join(workDir, dst)
	if there, err := os.Stat(target); err == nil && there.IsDir() {
		dst = path.Join(dst, filepath.Base(entry.Src))
		target = filepath.Join(workDir, dst)
	}
	if there, err := os.Stat(target); err == nil && os.SameFile(there, info) {
		return nil, nil
	}
	real, err := filepath.EvalSymlinks(entry.Src)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Dir(real))
	if err != nil {
		return nil, err
	}
	s.open = append(s.open, root)
	return []item{{from: entry.Src, dst: dst, mode: info.Mode(), root: root, name: filepath.Base(real)}}, nil
}

// copiedDir returns the items of a source folder. A top-level .gc is skipped if dst is the working directory.
func (s *stager) copiedDir(src, dst string, info fs.FileInfo) ([]item, error) {
	root, err := os.OpenRoot(src)
	if err != nil {
		return nil, err
	}
	s.open = append(s.open, root)
	t := &tree{src, root, s.warn}
	items, err := t.walk(".", dst, func(rel string) bool { return dst == "." && rel == stateDir })
	if dst != "." {
		items = append([]item{{from: src, dst: dst, dir: true, mode: info.Mode(), root: root, name: "."}}, items...)
	}
	return items, err
}

// CopyTo copies a file or folder into a working directory, for a person who requested it. Existing files are replaced, each
// atomically. Symbolic links that lead out of the source folder or out of the working directory are not followed. If the source
// is missing, CopyTo does nothing. After a failure only complete files are left.
func CopyTo(workDir, src, relDst string) error {
	if _, err := os.Lstat(src); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s := &stager{}
	defer s.close()
	items, err := s.copied(workDir, runtime.CopyEntry{Src: src, RelDst: relDst})
	if err != nil {
		return fmt.Errorf("cannot copy %s: %w", src, err)
	}
	s.root, err = os.OpenRoot(workDir)
	if err != nil {
		return fmt.Errorf("cannot copy %s: %w", src, err)
	}
	s.open = append(s.open, s.root)
	for _, it := range items {
		if err := s.replace(it); err != nil {
			return err
		}
	}
	return nil
}

// replace writes one item of CopyTo and replaces an existing file.
func (s *stager) replace(it item) error {
	if reason := blocked(s.root, dirOf(it)); reason != "" {
		return fmt.Errorf("cannot copy to %s: %s", it.dst, reason)
	}
	if err := s.makeDirs(it); err != nil || it.dir {
		return err
	}
	if info, err := s.root.Lstat(it.dst); err == nil && info.IsDir() {
		return fmt.Errorf("cannot copy to %s: it is a folder", it.dst)
	}
	return it.stream(func(content io.Reader) error {
		return writeFile(s.root, it.dst, file{content: content, mode: it.mode}, replaceAny)
	})
}
