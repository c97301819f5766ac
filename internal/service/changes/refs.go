package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gascity/client"
)

// The names of the trees without files.
const (
	emptySHA1   = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	emptySHA256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
)

// base returns the name of the commit with which the files are compared. Without a commit, it is
// the empty tree.
func (r *reader) base() string {
	switch {
	case r.out.Base != "":
		return r.out.Base
	case r.sha256:
		return emptySHA256
	}
	return emptySHA1
}

// operations maps files in a git directory to the operation that is not complete while they exist.
var operations = []struct{ file, name string }{
	{"rebase-merge", "rebase"},
	{"rebase-apply", "rebase"},
	{"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"},
	{"BISECT_LOG", "bisect"},
}

// readRefs finds the checked-out commit, the main branch and the base.
func (r *reader) readRefs(ctx context.Context) (err error) {
	for _, o := range operations {
		if _, err := os.Lstat(filepath.Join(r.repo.Dir, o.file)); err == nil && r.out.Operation == "" {
			r.out.Operation = o.name
		}
	}
	r.out.Head, err = r.git.text(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	if failed, ok := errors.AsType[*gitError](err); ok && failed.output == "" {
		err = nil // there is no commit yet
	}
	if err != nil {
		return err
	}
	main, err := r.mainBranch(ctx)
	if err != nil {
		return err
	}
	r.out.Base = r.out.Head
	if r.query.Since == client.SinceHead || r.out.Head == "" {
		return nil
	}
	if main == "" {
		return fmt.Errorf("%w: no main branch was found in %s: neither origin/HEAD nor a branch main or master; only uncommitted changes can be shown", client.ErrRefused, r.repo.Root)
	}
	r.out.Base, err = r.git.text(ctx, "merge-base", r.out.Head, main)
	if failed, ok := errors.AsType[*gitError](err); ok && failed.output == "" {
		err = fmt.Errorf("%w: the checked-out branch has no commit in common with %s; only uncommitted changes can be shown", client.ErrRefused, r.out.Main)
	}
	return err
}

const (
	remotes = "refs/remotes/origin/"
	heads   = "refs/heads/"
)

// mainBranch finds the main branch and sets r.out.Main and r.out.Commits. It returns the branch's
// reference; empty if there is no main branch. If both a local and a remote one exist, it chooses
// the one that lacks fewer commits of Head.
func (r *reader) mainBranch(ctx context.Context) (string, error) {
	out, err := r.git.text(ctx, "for-each-ref", "--format=%(refname) %(symref)",
		remotes+"HEAD", remotes+"main", remotes+"master", heads+"main", heads+"master")
	if err != nil || r.out.Head == "" {
		return "", err
	}
	var found []string
	name := ""
	for line := range strings.Lines(out) {
		ref, target, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ref == remotes+"HEAD" {
			name, _ = strings.CutPrefix(target, remotes)
			continue
		}
		found = append(found, ref)
	}
	if name == "" || strings.HasPrefix(name, "-") {
		name = "master"
		if slices.Contains(found, remotes+"main") || slices.Contains(found, heads+"main") && !slices.Contains(found, remotes+"master") {
			name = "main"
		}
	}
	best := ""
	for _, ref := range []string{remotes + name, heads + name} {
		if ref == heads+r.out.Branch && best != "" {
			continue
		}
		text, err := r.git.text(ctx, "rev-list", "--count", "--max-count="+strconv.Itoa(client.MaxCommits), ref+".."+r.out.Head, "--")
		if _, ok := errors.AsType[*gitError](err); ok && !slices.Contains(found, ref) {
			continue // there is no such branch
		}
		if err != nil {
			return "", err
		}
		commits, err := strconv.Atoi(text)
		if err != nil {
			return "", fmt.Errorf("git did not print a number: %w", err)
		}
		if best == "" || commits < r.out.Commits {
			best, r.out.Commits = ref, commits
		}
	}
	r.out.Main = strings.TrimPrefix(strings.TrimPrefix(best, "refs/remotes/"), heads)
	return best, nil
}
