package fsutil

import (
	"archive/tar"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// UnpackReport is the result of unpacking an archive.
type UnpackReport struct {
	Path  string   `json:"path"`  // of the unpacked file or folder, on this machine
	Files int      `json:"files"` // number of files written
	Bytes int64    `json:"bytes"` // total size of these files
	Left  []string `json:"left"`  // links that lead out of the unpacked folder and were not created
}

// UnpackArchive writes an archive to destination, as cp does: into destination if it is a folder, else with that name.
// Existing files are replaced atomically. After a failure only complete files are left. Unpack reads r to its end and returns
// its error.
func UnpackArchive(r io.Reader, destination string) (UnpackReport, error) {
	in := tar.NewReader(r)
	first, err := in.Next()
	if err != nil {
		return UnpackReport{}, cutOff(err)
	}
	root := path.Clean(first.Name)
	if strings.Contains(root, "/") || root == ".." {
		return UnpackReport{}, fmt.Errorf("the archive begins with %q, which is not one name", first.Name)
	}
	folder, name := filepath.Split(filepath.Clean(destination))
	switch info, err := os.Stat(destination); {
	case err == nil && info.IsDir():
		folder, name = destination, root
	case err == nil && first.Typeflag == tar.TypeDir:
		return UnpackReport{}, fmt.Errorf("%s is a file, and %s a folder", destination, root)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return UnpackReport{}, err
	}
	at, err := os.OpenRoot(filepath.Clean(folder))
	if err != nil {
		return UnpackReport{}, err
	}
	defer at.Close()
	u := &unpacker{root: at, from: root, to: name, in: in}
	u.report.Path, u.report.Left = filepath.Join(folder, name), []string{}
	err = u.all(first)
	if err == nil {
		_, err = io.Copy(io.Discard, r) // a sender can report an error after the archive
	}
	return u.report, err
}

func cutOff(err error) error { return fmt.Errorf("the archive was cut off: %w", err) }

type unpacker struct {
	root     *os.Root
	from, to string // name of the top-level entry, in the archive and on this machine
	in       *tar.Reader
	report   UnpackReport
}

// all unpacks the entry with the given header and all entries after it.
func (u *unpacker) all(header *tar.Header) error {
	for {
		if err := u.one(header); err != nil {
			return fmt.Errorf("cannot unpack %s: %w", header.Name, err)
		}
		var err error
		if header, err = u.in.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return cutOff(err)
		}
	}
}

// one unpacks one entry. A link that leads out of the unpacked folder is only reported.
func (u *unpacker) one(header *tar.Header) error {
	inside, err := filepath.Rel(u.from, path.Clean(header.Name))
	if err != nil || !filepath.IsLocal(inside) {
		return errors.New("it is outside of the requested file or folder")
	}
	name := filepath.Join(u.to, inside)
	if err := u.plain(inside); err != nil {
		return err
	}
	mode := header.FileInfo().Mode().Perm()
	switch header.Typeflag {
	case tar.TypeDir:
		if info, err := u.root.Stat(name); err == nil && info.IsDir() {
			return nil
		}
		return u.root.Mkdir(name, mode|0o700)
	case tar.TypeSymlink:
		if inside == "." {
			return errors.New("it is a symbolic link")
		}
		if !staysIn(inside, header.Linkname) {
			u.report.Left = append(u.report.Left, inside)
			return nil
		}
		return u.replace(name, func(part string) error { return u.root.Symlink(header.Linkname, part) })
	case tar.TypeReg:
		u.report.Files++
		return u.replace(name, func(part string) error { return u.file(part, mode) })
	}
	return errors.New("it is neither a file nor a folder nor a symbolic link")
}

// plain returns an error for an entry below a symbolic link. staysIn assumes that the parents of an entry are real folders.
func (u *unpacker) plain(inside string) error {
	for at := filepath.Dir(inside); at != "."; at = filepath.Dir(at) {
		if info, err := u.root.Lstat(filepath.Join(u.to, at)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link here", at)
		}
	}
	return nil
}

// staysIn reports whether a link at name can only lead to files below the top-level entry. The ".." parts must all be at the
// beginning of target, so that no other link can change their effect, and there must be no more of them than name has parent
// folders.
func staysIn(name, target string) bool {
	target = filepath.ToSlash(target)
	if target == "" || path.IsAbs(target) {
		return false
	}
	up := 0
	for strings.HasPrefix(target+"/", "../") {
		up++
		target = strings.TrimLeft(strings.TrimPrefix(target, ".."), "/")
	}
	for part := range strings.SplitSeq(target, "/") {
		if part == ".." {
			return false
		}
	}
	return up <= strings.Count(filepath.ToSlash(name), "/")
}

// replace writes a temporary file next to name with write, then renames it to name.
func (u *unpacker) replace(name string, write func(part string) error) error {
	if info, err := u.root.Lstat(name); err == nil && info.IsDir() {
		return errors.New("there is a folder with that name")
	}
	part := filepath.Join(filepath.Dir(name), ".gc-part-"+rand.Text())
	err := write(part)
	if err == nil {
		err = u.root.Rename(part, name)
	}
	if err != nil {
		u.root.Remove(part) //nolint:errcheck // it may not exist
	}
	return err
}

// file writes the content of the current entry to a new file.
func (u *unpacker) file(name string, mode fs.FileMode) error {
	out, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, u.in)
	u.report.Bytes += n
	return errors.Join(err, out.Close())
}
