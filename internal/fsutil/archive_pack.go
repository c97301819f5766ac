package fsutil

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
)

// PackArchive writes an archive of the file or folder at name to w. name may be a symbolic link to it. The top-level entry has the
// base name of name. Symbolic links in a folder are packed as links; devices, sockets and pipes are skipped.
func PackArchive(w io.Writer, name string) error {
	base := filepath.Base(name)
	resolved, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(resolved))
	if err != nil {
		return err
	}
	defer root.Close()
	return packArchive(w, root, filepath.Base(resolved), base)
}

// PackArchiveFrom is [PackArchive] for a name relative to folder. A name that leads out of folder, also through a link, is an
// error. The name "." packs the folder itself.
func PackArchiveFrom(w io.Writer, folder, name string) error {
	if name = filepath.Clean(name); !filepath.IsLocal(name) {
		return outsideError(name)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return packArchive(w, root, name, filepath.Base(name))
}

// outsideError reports that a name leads out of the folder that is copied from. It matches fs.ErrInvalid.
type outsideError string

func (e outsideError) Error() string {
	return string(e) + " is outside of the working directory; name a file in it, relative to it"
}

func (e outsideError) Is(target error) bool { return target == fs.ErrInvalid }

// packArchive writes the file or folder at name in root; base is its name in the archive.
func packArchive(w io.Writer, root *os.Root, name, base string) error {
	info, err := root.Stat(name)
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", name, cause.Err) // without the name of the system call
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is neither a file nor a folder", name)
	}
	p := packer{root, tar.NewWriter(w)}
	if err := p.one(name, base, info); err != nil {
		return fmt.Errorf("cannot pack %s: %w", base, err)
	}
	return p.out.Close()
}

type packer struct {
	root *os.Root
	out  *tar.Writer
}

// one writes the file, link or folder at name, and the content of a folder. The entry in the archive has the name entryName.
func (p *packer) one(name, entryName string, info fs.FileInfo) (err error) {
	link := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		if link, err = p.root.Readlink(name); err != nil {
			return err
		}
	case !mode.IsRegular() && !mode.IsDir():
		return nil
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name, header.Uname, header.Gname, header.Uid, header.Gid = filepath.ToSlash(entryName), "", "", 0, 0
	switch {
	case info.IsDir():
		return p.folder(name, entryName, header)
	case link != "":
		return p.out.WriteHeader(header)
	}
	return p.file(name, header)
}

// folder writes a folder and its content, sorted by name. Files that were removed meanwhile are skipped.
func (p *packer) folder(name, entryName string, header *tar.Header) error {
	in, err := p.root.Open(name)
	if err != nil {
		return err
	}
	entries, err := in.Readdirnames(-1)
	if err := errors.Join(err, in.Close(), p.out.WriteHeader(header)); err != nil {
		return err
	}
	slices.Sort(entries)
	for _, entry := range entries {
		at := filepath.Join(name, entry)
		info, err := p.root.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed in the meantime
		}
		if err == nil {
			err = p.one(at, path.Join(entryName, entry), info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file writes a file with the size in header. If the file grows meanwhile, only that size is written; if it shrinks, an error
// is returned. A file that was replaced by a pipe or device is an error and does not block.
func (p *packer) file(name string, header *tar.Header) error {
	in, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("%s is no longer a regular file", name), err)
	}
	if err := p.out.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.CopyN(p.out, in, header.Size)
	return err
}
