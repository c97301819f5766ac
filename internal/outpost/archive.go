package outpost

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// pack writes the file or folder at path as a tar archive whose one root is its base
// name, as a stream: nothing is held in memory. Devices, sockets and pipes are left out.
func pack(w io.Writer, path string) error {
	path = filepath.Clean(path)
	root, base := filepath.Dir(path), filepath.Base(path)
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return packOne(archive, file, relative, entry, file == path)
	})
	if err != nil {
		return fmt.Errorf("cannot carry %s over: %w", base, err)
	}
	return archive.Close()
}

// packOne writes one entry. A link is carried as a link, but for the root: that is what it
// points to.
func packOne(archive *tar.Writer, file, relative string, entry fs.DirEntry, isRoot bool) error {
	info, err := entry.Info()
	if err == nil && isRoot {
		info, err = os.Stat(file)
	}
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	} else if !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name, header.Uname, header.Gname, header.Uid, header.Gid = filepath.ToSlash(relative), "", "", 0, 0
	if err := archive.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	// A file that grows meanwhile is cut, one that shrinks is an error.
	_, err = io.CopyN(archive, in, header.Size)
	return err
}

// unpack writes an archive below dir and nowhere else, links included, and returns the
// name of its one root.
func unpack(r io.Reader, dir string) (base string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return base, nil
		case err != nil:
			return "", fmt.Errorf("the archive was cut off: %w", err)
		case base == "":
			base = header.Name
		}
		if err := unpackOne(root, filepath.FromSlash(header.Name), header, archive); err != nil {
			return "", err
		}
	}
}

func unpackOne(root *os.Root, name string, header *tar.Header, content io.Reader) error {
	mode := header.FileInfo().Mode().Perm()
	switch header.Typeflag {
	case tar.TypeDir:
		return root.Mkdir(name, mode|0o700)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		return errors.Join(err, out.Close())
	}
	return fmt.Errorf("%s is nothing that can be carried over", header.Name)
}
