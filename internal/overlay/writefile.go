package overlay

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"gascity/internal/fsutil"
)

// file is the content and mode of a file to write.
type file struct {
	content io.Reader
	mode    fs.FileMode
	old     string // for replaceSame: hash of the expected content
}

// errChanged reports that a file has changed since it was read.
var errChanged = errors.New("another program has changed the file since gc read it")

// existing is the policy for a file that already exists.
type existing int

const (
	keepAny     existing = iota // the write fails with fs.ErrExist
	replaceSame                 // the file is replaced if its hash is file.old, else the write fails with errChanged
	replaceAny                  // the file is replaced
)

// writeFile writes a file atomically: until all of it is on disk, readers see no file or the old one. The folder must exist.
func writeFile(root *os.Root, name string, f file, policy existing) error {
	temporary := path.Join(path.Dir(name), ".gc-stage-"+rand.Text())
	err := writeTemporary(root, temporary, f)
	if err == nil {
		err = moveInto(root, temporary, name, f.old, policy)
	}
	if err != nil {
		if cleanup := root.Remove(temporary); cleanup != nil && !errors.Is(cleanup, fs.ErrNotExist) {
			err = errors.Join(err, cleanup)
		}
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return syncDir(root, path.Dir(name))
}

// writeTemporary writes and syncs the temporary file.
func writeTemporary(root *os.Root, name string, f file) error {
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, f.content)
	if err == nil {
		err = out.Chmod(f.mode.Perm())
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// moveInto renames the temporary file to name. With the policy keepAny it creates a hard link, which fails if name exists.
func moveInto(root *os.Root, temporary, name, old string, policy existing) error {
	if policy == replaceSame {
		if now, err := hashOf(root, name); err != nil || now != old {
			return errors.Join(errChanged, err)
		}
	}
	if policy != keepAny {
		return root.Rename(temporary, name)
	}
	err := root.Link(temporary, name)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EMLINK) {
		// A file system without hard links.
		if _, statErr := root.Lstat(name); !errors.Is(statErr, fs.ErrNotExist) {
			return fs.ErrExist
		}
		return root.Rename(temporary, name)
	}
	if err != nil {
		return err
	}
	return root.Remove(temporary)
}

// syncDir syncs a folder, where the file system supports that.
func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // the file system cannot sync folders
	}
	return errors.Join(err, dir.Close())
}

// makeDirs creates the folder and its parents.
func makeDirs(root *os.Root, name string, mode fs.FileMode) error {
	if name == "." || name == "" {
		return nil
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		dir := path.Join(parts[:i+1]...)
		perm := fs.FileMode(0o755)
		if i == len(parts)-1 {
			perm = mode.Perm() | 0o700
		}
		switch err := root.Mkdir(dir, perm); {
		case err == nil:
			if err := root.Chmod(dir, perm); err != nil {
				return err
			}
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

// blocked returns the reason why nothing can be written below the folder, or an empty string. The reason is a part of the path
// that is not a folder, or a link that leads out of the working directory.
func blocked(root *os.Root, dir string) string {
	parts := strings.Split(dir, "/")
	for i := range parts {
		at := path.Join(parts[:i+1]...)
		info, err := root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return ""
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if info, err = root.Stat(at); err != nil {
				return at + " is a symbolic link without a target in the working directory"
			}
		}
		if err != nil {
			return err.Error()
		}
		if !info.IsDir() {
			return at + " is not a folder"
		}
	}
	return ""
}

// lock locks the working directory against other stagings until the returned function is called.
func lock(ctx context.Context, root *os.Root) (func() error, error) {
	if err := makeDirs(root, stateDir, 0o700); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(lockPath, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	switch err := fsutil.Lock(ctx, f); {
	case err == nil:
		return f.Close, nil
	case ctx.Err() != nil:
		return nil, errors.Join(fmt.Errorf("another gc process is copying files into this working directory (lock %s): %w", lockPath, err), f.Close())
	default:
		return nil, errors.Join(fmt.Errorf("cannot lock %s: %w", lockPath, err), f.Close())
	}
}

// ignoreState makes git ignore the files of gc in the working directory.
func ignoreState(root *os.Root) error {
	if _, err := root.Lstat(ignorePath); err == nil {
		return nil
	}
	err := writeFile(root, ignorePath, file{content: strings.NewReader("*\n"), mode: 0o644}, keepAny)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
