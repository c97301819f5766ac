package citydir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/internal/fsutil"
)

// Repository is the git repository that contains a city. It is read without the git program.
type Repository struct {
	Root    string // the top directory of the working tree
	Dir     string // the git directory of this working tree
	Common  string // the git directory that all working trees of the repository share; often the same as Dir
	exclude string // the file info/exclude in Common
}

// FindRepository returns the git repository that contains dir; ok is false if there is none. dir
// need not exist.
func FindRepository(dir string) (r Repository, ok bool, err error) {
	for top := dir; ; top = filepath.Dir(top) {
		own, common, err := gitDirs(filepath.Join(top, ".git"))
		switch {
		case err == nil:
			return Repository{Root: top, Dir: own, Common: common, exclude: filepath.Join(common, "info", "exclude")}, true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return Repository{}, false, fmt.Errorf("cannot read the git repository at %s: %w", top, err)
		case top == filepath.Dir(top):
			return Repository{}, false, nil
		}
	}
}

// maxGitFile is the maximum size in bytes of a git file that is read.
const maxGitFile = 1 << 20

// gitDirs returns the git directory of a working tree, and the one that all working trees of the
// repository share. path is the .git of the working tree: that directory, or a file that names
// another one.
func gitDirs(path string) (own, common string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "", err
	}
	dir := path
	if !info.IsDir() {
		text, err := readSmall(path)
		if err != nil {
			return "", "", err
		}
		named, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
		if !ok {
			return "", "", fmt.Errorf("%w: %s is not a .git file that names a git directory", fs.ErrNotExist, path)
		}
		dir = resolvePath(filepath.Dir(path), named)
	}
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return "", "", err
	}
	named, err := readSmall(filepath.Join(dir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return dir, dir, nil
	}
	return dir, resolvePath(dir, strings.TrimSpace(named)), err
}

// resolvePath returns an absolute path as it is, and a relative one below dir.
func resolvePath(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readSmall returns the text of a regular file of at most [maxGitFile] bytes. It never waits for a
// writer of a pipe.
func readSmall(path string) (string, error) {
	text, err := fsutil.ReadRegular(path, maxGitFile)
	return string(text), err
}

// Exclude adds the city's own directories to info/exclude, so that git ignores them in every
// working tree of the repository. It returns that file. changed is false if the file already had
// them.
func (r Repository) Exclude(root string) (file string, changed bool, err error) {
	lines, err := r.patterns(root)
	if err != nil {
		return "", false, err
	}
	text, err := readSmall(r.exclude)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return hasLine(text, line) })
	if len(lines) == 0 {
		return r.exclude, false, nil
	}
	added := strings.Join(lines, "\n") + "\n"
	if text != "" && !strings.HasSuffix(text, "\n") {
		added = "\n" + added
	}
	if err := os.MkdirAll(filepath.Dir(r.exclude), 0o755); err != nil { //nolint:gosec // the mode that git uses
		return "", false, err
	}
	out, err := os.OpenFile(r.exclude, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644) //nolint:gosec // the mode that git uses
	if err != nil {
		return "", false, err
	}
	_, err = out.WriteString(added)
	return r.exclude, err == nil, errors.Join(err, out.Close())
}

// Ignores reports whether git ignores the city's own directories, because of info/exclude or of a
// .gitignore in the city or above it. It recognizes the common patterns that name the directories,
// not every possible one.
func (r Repository) Ignores(root string) (bool, error) {
	lines, err := r.patterns(root)
	if err != nil {
		return false, err
	}
	excluded, err := readSmall(r.exclude)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for i, name := range []string{StateFolder, RuntimeFolder} {
		if hasLine(excluded, lines[i]) || namesFolder(excluded, name, r.Root == root) {
			continue
		}
		if !r.ignoredByFile(root, name) {
			return false, nil
		}
	}
	return true, nil
}

// ignoredByFile reports whether a .gitignore of the city or of a directory above it names a
// directory of the city.
func (r Repository) ignoredByFile(root, name string) bool {
	for dir := root; ; dir = filepath.Dir(dir) {
		text, err := readSmall(filepath.Join(dir, ".gitignore"))
		if err == nil && namesFolder(text, name, dir == root) {
			return true
		}
		if relative, err := filepath.Rel(dir, filepath.Join(root, name)); err == nil {
			pattern := escapePattern(filepath.ToSlash(relative))
			if hasLine(text, "/"+pattern) || hasLine(text, "/"+pattern+"/") || hasLine(text, pattern+"/") {
				return true
			}
		}
		if dir == r.Root || dir == filepath.Dir(dir) {
			return false
		}
	}
}

// namesFolder reports whether a pattern in text matches a directory called name at any depth. If
// here is true, text belongs to the directory's own parent, and patterns with a leading slash count
// too.
func namesFolder(text, name string, here bool) bool {
	for _, pattern := range []string{name, name + "/", "**/" + name, "**/" + name + "/"} {
		if hasLine(text, pattern) {
			return true
		}
	}
	return here && (hasLine(text, "/"+name) || hasLine(text, "/"+name+"/"))
}

// patterns returns the lines that info/exclude needs for a city.
func (r Repository) patterns(root string) ([]string, error) {
	relative, err := filepath.Rel(r.Root, root)
	if err != nil {
		return nil, err
	}
	prefix := "/"
	if relative != "." {
		if strings.ContainsAny(relative, "\n\r") {
			return nil, fmt.Errorf("the path %q holds a line end, which git cannot ignore", relative)
		}
		prefix = "/" + escapePattern(filepath.ToSlash(relative)) + "/"
	}
	return []string{prefix + StateFolder + "/", prefix + RuntimeFolder + "/"}, nil
}

// escapePattern returns a git pattern that matches only the given path.
func escapePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// hasLine reports whether text has the given line; white space at its end is ignored.
func hasLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, " \t\r\n") == want {
			return true
		}
	}
	return false
}

// IgnoreState makes git ignore the state of a city, and returns the file that it uses for that;
// empty if the city is in no repository.
func IgnoreState(root string) (string, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	r, ok, err := FindRepository(root)
	if err != nil || !ok {
		return "", err
	}
	file, _, err := r.Exclude(root)
	return file, err
}
