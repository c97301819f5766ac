package remote

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// unpack extracts an archive into dir and returns the name of its top-level entry. Names and links that lead out of dir are
// refused.
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
			return "", fmt.Errorf("the archive is incomplete: %w", err)
		case base == "":
			base = header.Name
		}
		if err := unpackOne(root, filepath.FromSlash(header.Name), header, archive); err != nil {
			return "", err
		}
	}
}

// unpackOne creates one folder, symbolic link or file of an archive. It is an error if the name already exists.
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
	return fmt.Errorf("%s is not a file, folder or symbolic link and cannot be copied", header.Name)
}
