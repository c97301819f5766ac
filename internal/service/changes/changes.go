// Package changes reads what differs between a working directory and a commit of its git repository:
// the changed files, and their diffs.
//
// # Trust
//
// An agent controls its working directory and the git directory of it, and git executes programs
// that a repository's configuration names: hooks, filters, drivers of diffs, a file system monitor,
// transports. So git never gets the agent's git directory. It gets a new, private one with a
// configuration of this package, a copy of HEAD and of the index, and links to the references and
// to the objects. From the repository's own configuration only the values of [copiedKeys] are copied.
// The environment of git is fixed, so it has no variable of the controller. git writes nothing into
// the repository.
//
// Of files that git does not track, this package reads the content itself: only regular files, never
// through a symbolic link, and never outside of the working tree.
//
// What remains: a repository decides what git ignores (.gitignore, info/exclude, bits of the index),
// and references and objects are read where its git directory says they are. A file of the repository
// that is a pipe delays git until the time limit.
package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/textfmt"
)

// Options are the options of a [Service]. Program and Dir are required.
type Options struct {
	// Program returns the path of git.
	Program func() (string, error)
	// Dir is a private directory for git directories that exist during one call. It is created when
	// needed, and removed when it is empty.
	Dir string
	// Ignore is the user's own file of ignored names, which git uses in every repository. Empty: none.
	// It need not exist.
	Ignore string
	// Hidden are directories of the city itself, with secrets. Files in them are never shown.
	Hidden []string
	// Limit is the time limit of one call; zero: 25 s.
	Limit time.Duration
}

// Service reads changes. It is safe for concurrent use.
type Service struct {
	opts  Options
	slots chan struct{} // one element for each call that runs git
}

const (
	defaultLimit = 25 * time.Second
	atOnce       = 2 // calls that run git at the same time
)

// New returns a service. It starts nothing.
func New(opts Options) *Service {
	opts.Limit = cmp.Or(opts.Limit, defaultLimit)
	return &Service{opts: opts, slots: make(chan struct{}, atOnce)}
}

// Read returns the changes of the working tree that contains dir. Agent and Session of the result are
// empty. The errors are those of [client.Client.Changes].
func (s *Service) Read(ctx context.Context, dir string, q client.ChangesQuery) (client.Changes, error) {
	q, err := checkQuery(q)
	if err != nil {
		return client.Changes{}, err
	}
	program, err := s.opts.Program()
	if err != nil {
		return client.Changes{}, fmt.Errorf("%w: changed files cannot be read, because git %w in PATH of the controller; install git on this machine", client.ErrUnavailable, err)
	}
	repo, err := findRepository(dir)
	if err != nil {
		return client.Changes{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Limit, fmt.Errorf("%w: git has not answered for %s in %s: the repository is very large, or a file in it cannot be read; try: git -C %s status",
		client.ErrTimeout, textfmt.Duration(s.opts.Limit), repo.Root, repo.Root))
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return client.Changes{}, context.Cause(ctx)
	}
	r := &reader{repo: repo, query: q, hidden: relativeTo(repo.Root, s.opts.Hidden), out: client.Changes{WorkDir: dir, Root: repo.Root, Since: q.Since}}
	gitDir, err := s.newGitDir(ctx, program, repo, r)
	if err != nil {
		return client.Changes{}, err
	}
	err = r.read(ctx)
	if err = errors.Join(err, gitDir.remove()); err != nil {
		return client.Changes{}, err
	}
	return r.out, nil
}

// checkQuery returns the query with defaults in place of empty values. It returns an error if a
// value is invalid.
func checkQuery(q client.ChangesQuery) (client.ChangesQuery, error) {
	q.Since, q.Bytes = cmp.Or(q.Since, client.SinceHead), cmp.Or(q.Bytes, client.DefaultDiffBytes)
	switch {
	case q.Since != client.SinceHead && q.Since != client.SinceBranch:
		return q, fmt.Errorf("%w: since=%q is neither %q nor %q", client.ErrInvalid, q.Since, client.SinceHead, client.SinceBranch)
	case q.Bytes < 0 || q.Bytes > client.MaxDiffBytes:
		return q, fmt.Errorf("%w: bytes=%d is not between 0 and %d", client.ErrInvalid, q.Bytes, client.MaxDiffBytes)
	}
	if q.Path == "" {
		return q, nil
	}
	path, err := unquote(q.Path)
	if err != nil {
		return q, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	if q.Path = filepath.Clean(path); !filepath.IsLocal(q.Path) {
		return q, fmt.Errorf("%w: the path %s is outside of the working tree; name a file in it, relative to its top directory", client.ErrInvalid, quote(path))
	}
	return q, nil
}

// findRepository returns the repository whose working tree contains dir. An error matches
// client.ErrRefused.
func findRepository(dir string) (citydir.Repository, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return citydir.Repository{}, fmt.Errorf("%w: the working directory %s does not exist", client.ErrRefused, dir)
	case err != nil:
		return citydir.Repository{}, fmt.Errorf("%w: cannot read the working directory: %w", client.ErrRefused, err)
	case !info.IsDir():
		return citydir.Repository{}, fmt.Errorf("%w: the working directory %s is not a directory", client.ErrRefused, dir)
	}
	r, ok, err := citydir.FindRepository(dir)
	if err != nil {
		return r, fmt.Errorf("%w: %w", client.ErrRefused, err)
	}
	for bare := dir; bare != r.Root; bare = filepath.Dir(bare) {
		if isGitDir(bare) {
			return r, fmt.Errorf("%w: %s is a bare git repository, or a directory of git's own; it has no working tree", client.ErrRefused, bare)
		}
		if bare == filepath.Dir(bare) {
			break
		}
	}
	if !ok {
		return r, fmt.Errorf("%w: %s is in no git repository, so its changes are not known; to make it one: git -C %s init", client.ErrRefused, dir, dir)
	}
	return r, nil
}

// isGitDir reports whether dir is itself a git directory.
func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// relativeTo returns those of the directories that are inside root, as paths relative to root.
func relativeTo(root string, dirs []string) (below []string) {
	for _, dir := range dirs {
		if path, err := filepath.Rel(resolved(root), filepath.Join(resolved(filepath.Dir(dir)), filepath.Base(dir))); err == nil && filepath.IsLocal(path) {
			below = append(below, path)
		}
	}
	return below
}

// resolved returns a path without symbolic links, or the path itself if it cannot be resolved.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}
