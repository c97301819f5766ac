package fake

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gascity/runtime"
)

// stage copies overlays and files into the working directory. An overlay never overwrites a file.
func stage(cfg runtime.Config) error {
	overlays := slices.DeleteFunc(append(slices.Clone(cfg.PackOverlayDirs), cfg.OverlayDir), func(dir string) bool { return dir == "" })
	slots := runtime.EffectiveOverlayProviderNames(cfg, overlays...)
	for _, dir := range overlays {
		if err := copyTree(dir, cfg.WorkDir, keepExisting); err != nil {
			return err
		}
		for _, slot := range slots {
			if err := copyTree(filepath.Join(dir, slotsFolder, slot), cfg.WorkDir, keepExisting); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for _, entry := range cfg.CopyFiles {
		if err := copyInto(cfg.WorkDir, entry.Src, entry.RelDst); err != nil {
			return err
		}
	}
	return nil
}

// slotsFolder is the directory with one subdirectory for each overlay slot.
const slotsFolder = "per-provider"

// existing selects what happens to an existing file.
type existing int

const (
	keepExisting existing = iota
	replaceExisting
)

// CopyTo implements runtime.Stager.
func (f *Provider) CopyTo(name, src, relDst string) error {
	if err := f.called("CopyTo", name, src, relDst); err != nil {
		return err
	}
	s := f.world.find(name)
	if s == nil || s.cfg.WorkDir == "" {
		return nil
	}
	err := copyInto(s.cfg.WorkDir, src, relDst)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// copyInto copies a file or directory to relDst inside dir. [os.Root] prevents writes outside of
// dir.
func copyInto(dir, src, relDst string) error {
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	relDst = filepath.Clean(filepath.FromSlash(relDst))
	if info.IsDir() {
		return copyFolder(root, src, relDst, replaceExisting)
	}
	if relDst == "." {
		relDst = filepath.Base(src)
	}
	return copyFile(root, src, relDst)
}

// copyTree copies the contents of src into dir, without the directory of slots.
func copyTree(src, dir string, there existing) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return copyFolder(root, src, ".", there)
}

// copyFolder copies the files of src below relDst. With keepExisting it skips existing files and the
// folder of provider-specific overlays.
func copyFolder(root *os.Root, src, relDst string, there existing) error {
	return filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel == slotsFolder && there == keepExisting {
				return filepath.SkipDir
			}
			return nil
		}
		dst := filepath.Join(relDst, rel)
		if _, err := root.Lstat(dst); err == nil && there == keepExisting {
			return nil
		}
		return copyFile(root, path, dst)
	})
}

// copyFile copies a file to dst inside root and creates the missing directories.
func copyFile(root *os.Root, src, dst string) error {
	if !filepath.IsLocal(dst) {
		return fmt.Errorf("%q leaves the working directory", dst)
	}
	data, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return err
	}
	return root.WriteFile(dst, data, 0o600)
}

// CopyFrom implements runtime.CopyFromProvider for one file.
func (f *Provider) CopyFrom(_ context.Context, name, src string, w io.Writer) error {
	if err := f.called("CopyFrom", name, src); err != nil {
		return err
	}
	s := f.world.find(name)
	if s == nil {
		return notFound("copy from", name)
	}
	if !filepath.IsLocal(src) {
		return &runtime.Error{Op: "copy from", Session: name, Err: fs.ErrInvalid}
	}
	content, err := os.ReadFile(filepath.Join(s.cfg.WorkDir, src))
	if err != nil {
		return &runtime.Error{Op: "copy from", Session: name, Err: err}
	}
	out := tar.NewWriter(w)
	err = out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(src), Mode: 0o644, Size: int64(len(content))})
	if err == nil {
		_, err = out.Write(content)
	}
	return errors.Join(err, out.Close())
}
