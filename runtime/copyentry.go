package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CopyEntry is a file or directory that is copied into the session's working directory before the
// agent's command starts.
type CopyEntry struct {
	// Src is the source path on the caller's machine.
	Src string
	// RelDst is the destination inside the working directory. Empty means its root.
	RelDst string
	// Probed marks an entry that was discovered in the file system and is not named in the
	// configuration. Its fingerprint uses its content, so a recreated file with the same content is
	// not a change.
	Probed bool
	// ContentHash is the hash of the content at discovery time, see [HashPathContent]. If it is
	// empty on a probed entry, the content could not be read; the fingerprint then uses a constant
	// marker.
	ContentHash string
}

// HashPathContent returns the SHA-256 of the content at path in lower-case hexadecimal digits. For
// a file it hashes the bytes. For a directory it hashes the sorted list of "rel NUL content NUL",
// without file modes, Python caches and backup files of editors. It returns "", for unknown, after
// any error, and never a partial hash.
func HashPathContent(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	h := sha256.New()
	if !info.IsDir() {
		if err := hashFile(h, path); err != nil {
			return ""
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	entries, err := hashedEntries(path)
	if err != nil {
		return ""
	}
	for _, rel := range entries {
		io.WriteString(h, rel+"\x00") //nolint:errcheck // a hash never fails to write
		if err := hashFile(h, filepath.Join(path, rel)); err != nil {
			return ""
		}
		io.WriteString(h, "\x00") //nolint:errcheck // a hash never fails to write
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashFile writes the content of a regular file to w. It returns an error for any other file,
// because reading a pipe could block without end.
func hashFile(w io.Writer, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// hashedEntries returns the paths of the files below dir that are hashed, relative to dir and
// sorted.
func hashedEntries(dir string) ([]string, error) {
	var entries []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p != dir && skipHash(d) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		entries = append(entries, rel)
		return nil
	})
	slices.Sort(entries)
	return entries, err
}

// skipHash reports whether a file or directory is a cache or an editor's temporary file, which a
// content hash leaves out.
func skipHash(d fs.DirEntry) bool {
	base := d.Name()
	if d.IsDir() {
		return slices.Contains([]string{"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}, base)
	}
	switch filepath.Ext(base) {
	case ".pyc", ".pyo":
		return true
	case ".swp", ".swx":
		return strings.HasPrefix(base, ".")
	}
	return strings.HasSuffix(base, "~")
}
