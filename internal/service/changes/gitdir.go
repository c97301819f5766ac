package changes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/fsutil"
)

const (
	maxIndex  = 512 << 20 // bytes
	maxConfig = 1 << 20
	maxHead   = 4 << 10
)

// copiedKeys are the keys whose values are copied from the configuration of a repository. They say how
// files are compared, and name no program and no path.
var copiedKeys = []string{
	"core.autocrlf", "core.checkstat", "core.eol", "core.filemode", "core.ignorecase", "core.precomposeunicode", "core.symlinks", "core.trustctime",
	"core.sparsecheckout", "core.sparsecheckoutcone", "extensions.objectformat", "extensions.refstorage",
}

// plainValue matches the values that are copied.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9]{0,16}$`)

// fixedConfig is the configuration with which git runs. It names no program, so git runs none.
const fixedConfig = `[core]
	bare = false
	hooksPath = /dev/null
	quotePath = false
	bigFileThreshold = 8m
	excludesFile = %s
[diff]
	renameLimit = 400
[protocol]
	allow = never
[gc]
	auto = 0
[maintenance]
	auto = false
`

// fixedAttributes take precedence over every .gitattributes: no filter is used, and no attribute makes a
// text binary.
const fixedAttributes = "* !diff !filter !merge\n"

// gitDir is a private git directory that shows a repository to git.
type gitDir struct{ path string }

// remove removes the directory.
func (d gitDir) remove() error {
	err := os.RemoveAll(d.path)
	_ = os.Remove(filepath.Dir(d.path)) // this fails while other calls have directories
	return err
}

// newGitDir makes a private git directory for repo, and sets the fields of r that depend on it. On
// success the caller must remove it.
func (s *Service) newGitDir(ctx context.Context, program string, repo citydir.Repository, r *reader) (own gitDir, err error) {
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return own, fmt.Errorf("cannot make a directory for git: %w", err)
	}
	if own.path, err = os.MkdirTemp(s.opts.Dir, "*"); err != nil {
		return own, fmt.Errorf("cannot make a directory for git: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, own.remove())
		}
	}()
	r.git = git{program: program, dir: repo.Root, env: environment(own.path, repo)}
	if err := own.fill(repo); err != nil {
		return own, err
	}
	config, err := r.git.ownConfig(ctx, repo, own.path)
	if err != nil {
		return own, err
	}
	r.sha256 = config["extensions.objectformat"] == "sha256"
	if config["core.bare"] == "true" && repo.Dir == repo.Common {
		return own, fmt.Errorf("%w: the git repository at %s is bare: it has no working tree", client.ErrRefused, repo.Root)
	}
	if head, err := os.ReadFile(own.file("HEAD")); err == nil {
		if branch, ok := strings.CutPrefix(string(head), "ref: "+heads); ok {
			r.out.Branch = strings.TrimSpace(branch)
		}
	}
	return own, errors.Join(writeFile(own.file("config"), s.config(config)), writeFile(own.file("info", "attributes"), fixedAttributes))
}

// file returns the path of a file in the directory.
func (d gitDir) file(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// environment returns the environment of git. It has nothing of the environment of this process.
func environment(own string, repo citydir.Repository) []string {
	return []string{
		"GIT_DIR=" + own, "GIT_WORK_TREE=" + repo.Root, "GIT_INDEX_FILE=" + filepath.Join(own, "index"), "GIT_OBJECT_DIRECTORY=" + filepath.Join(repo.Common, "objects"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"HOME=" + own, "XDG_CONFIG_HOME=" + own, // for a git before 2.32, which does not know GIT_CONFIG_GLOBAL
		"GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/", // "/" cannot be run
		"GIT_PAGER=cat", "PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC",
	}
}

// fill copies HEAD and the index of the repository into the private git directory, and adds links
// to its references.
func (d gitDir) fill(repo citydir.Repository) error {
	head, err := fsutil.ReadRegular(filepath.Join(repo.Dir, "HEAD"), maxHead)
	if err != nil {
		return fmt.Errorf("%w: cannot read the git repository: %w", client.ErrRefused, err)
	}
	exclude, err := fsutil.ReadRegular(filepath.Join(repo.Common, "info", "exclude"), maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: cannot read the git repository: %w", client.ErrRefused, err)
	}
	if err := os.Mkdir(d.file("info"), 0o700); err != nil {
		return err
	}
	if err := errors.Join(writeFile(d.file("HEAD"), string(head)), writeFile(d.file("info", "exclude"), string(exclude))); err != nil {
		return err
	}
	if err := copyIndex(filepath.Join(repo.Dir, "index"), d.file("index")); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(repo.Common, "refs"), d.file("refs")); err != nil {
		return err
	}
	links := []string{filepath.Join(repo.Common, "packed-refs"), filepath.Join(repo.Common, "reftable"), filepath.Join(repo.Common, "shallow")}
	shared, err := filepath.Glob(filepath.Join(globEscaped(repo.Dir), "sharedindex.*")) // parts of a split index
	if err != nil {
		return err
	}
	for _, link := range append(links, shared...) {
		if _, err := os.Lstat(link); err != nil {
			continue // a repository need not have it
		}
		if err := os.Symlink(link, d.file(filepath.Base(link))); err != nil {
			return err
		}
	}
	return nil
}

// globEscaped returns a pattern that matches only the path.
func globEscaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// copyIndex copies an index with its time, by which git knows which entries it must compare. A
// repository without commits may have none.
func copyIndex(from, to string) error {
	in, err := fsutil.OpenRegular(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: cannot read the index of the git repository: %w", client.ErrRefused, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxIndex {
		return fmt.Errorf("%w: the git repository is too large: its index %s has %d MiB, and at most %d MiB are read", client.ErrRefused, from, info.Size()>>20, maxIndex>>20)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxIndex))
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("cannot copy the index of the git repository: %w", err)
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// ownConfig returns the values in the configuration file of a repository, by key. Files that it
// includes are not read. The keys are in lower case.
func (g *git) ownConfig(ctx context.Context, repo citydir.Repository, dir string) (map[string]string, error) {
	text, err := fsutil.ReadRegular(filepath.Join(repo.Common, "config"), maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: cannot read the configuration of the git repository: %w", client.ErrRefused, err)
	}
	reader := *g
	reader.dir = dir
	out, _, err := reader.run(ctx, text, "config", "--file", "-", "--no-includes", "--list", "-z")
	config := map[string]string{}
	fields(out, func(field string, _ func() string) {
		key, value, hasValue := strings.Cut(field, "\n")
		if !hasValue {
			value = "true" // a key without a value
		}
		config[key] = value
	})
	return config, err
}

// config returns the text of the configuration file for the private git directory. repository has
// the values of the repository's own configuration.
func (s *Service) config(repository map[string]string) string {
	ignore := "/dev/null"
	if plainPath.MatchString(s.opts.Ignore) {
		ignore = s.opts.Ignore
	}
	var out strings.Builder
	fmt.Fprintf(&out, fixedConfig, ignore)
	version := 0
	for _, key := range copiedKeys {
		value, ok := repository[key]
		if !ok || !plainValue.MatchString(value) {
			continue
		}
		section, name, _ := strings.Cut(key, ".")
		if section == "extensions" {
			version = 1
		}
		fmt.Fprintf(&out, "[%s]\n\t%s = %s\n", section, name, value)
	}
	fmt.Fprintf(&out, "[core]\n\trepositoryFormatVersion = %d\n", version)
	return out.String()
}

// plainPath matches a path that needs no quotes in a configuration.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9/._-]+$`)

// writeFile writes a file that only this user can read.
func writeFile(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }
