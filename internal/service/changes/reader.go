package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
)

const (
	maxFiles       = 1000             // files in a list
	untrackedLimit = 10 * time.Second // time for the search for files that git does not track
	maxPaths       = 200              // paths that are given to one git command
)

// reader reads the changes of one working tree. It is used once.
type reader struct {
	repo   citydir.Repository
	query  client.ChangesQuery
	git    git
	sha256 bool     // the names of objects are SHA-256
	hidden []string // directories whose files are not shown, relative to the working tree
	out    client.Changes

	root  *os.Root
	files map[string]*entry // by the path as git knows it
}

// entry is a changed file.
type entry struct {
	client.ChangedFile

	path, oldPath string // as git knows them
	special       bool   // see client.KindSpecial
}

// notRead is the reason why a special file has no diff.
const notRead = "it is a pipe, a socket or a device, which is not read"

// compareFlags are flags of git diff with which it runs no program.
var compareFlags = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short", "--find-renames", "--unified=3"}

// read reads all changes of the working tree and stores the result in r.out.
func (r *reader) read(ctx context.Context) (err error) {
	if r.root, err = os.OpenRoot(r.repo.Root); err != nil {
		return fmt.Errorf("%w: cannot read the working tree: %w", client.ErrRefused, err)
	}
	defer r.root.Close()
	r.files = map[string]*entry{}
	for _, step := range []func(context.Context) error{r.readRefs, r.readStatus, r.compare, r.compareConflicts, r.readUntracked} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	maps.DeleteFunc(r.files, func(path string, _ *entry) bool {
		return slices.ContainsFunc(r.hidden, func(dir string) bool { return isBelow(path, dir) })
	})
	list := r.selected()
	r.inspectUntracked(list)
	if r.query.Diff {
		if err := r.readDiffs(ctx, list); err != nil {
			return err
		}
	}
	r.out.Files = make([]client.ChangedFile, 0, len(list))
	for _, e := range list {
		e.Path, e.OldPath, e.Diff = quote(e.path), quote(e.oldPath), strings.ToValidUTF8(e.Diff, "\uFFFD")
		r.out.Files = append(r.out.Files, e.ChangedFile)
		r.out.Added, r.out.Removed = r.out.Added+e.Added, r.out.Removed+e.Removed
	}
	return nil
}

// cut records for people why the result is not complete.
func (r *reader) cut(format string, args ...any) {
	r.out.Cut = append(r.out.Cut, fmt.Sprintf(format, args...))
}

// entryOf returns the entry of the file with this path; if there is none, it adds one.
func (r *reader) entryOf(path string) *entry {
	e := r.files[path]
	if e == nil {
		e = &entry{path: path}
		r.files[path] = e
	}
	return e
}

// readStatus reads which tracked files have changed, by git status: in the working tree since they
// were staged, and in the index since the commit.
func (r *reader) readStatus(ctx context.Context) error {
	out, cut, err := r.git.run(ctx, nil, "status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames")
	if err != nil {
		return err
	}
	if cut {
		r.cut("git status has more than %d MiB of output, so some files are missing", maxOutput>>20)
	}
	var special []string
	fields(out, func(field string, _ func() string) {
		kind, rest, _ := strings.Cut(field, " ")
		before := map[string]int{"1": 7, "u": 9}[kind] // fields between the kind and the path
		parts := strings.SplitN(rest, " ", before+1)
		if before == 0 || len(parts) <= before || len(parts[0]) != 2 {
			return
		}
		e := r.entryOf(parts[before])
		if e.special = r.isSpecial(e.path); e.special && kind == "1" {
			special = append(special, e.path)
		}
		if kind == "u" {
			e.Status = client.FileConflicted
			return
		}
		e.Staged, e.Unstaged = parts[0][0] != '.', parts[0][1] != '.'
	})
	if len(special) == 0 {
		return nil
	}
	// git diff fails at a file that it cannot read. This changes the copy of the index.
	_, _, err = r.git.run(ctx, []byte(strings.Join(special, "\x00")+"\x00"), "update-index", "--assume-unchanged", "-z", "--stdin")
	return err
}

// isSpecial reports whether a path names a pipe, a socket or a device.
func (r *reader) isSpecial(path string) bool {
	info, err := r.root.Lstat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir() && info.Mode()&os.ModeSymlink == 0
}

// The modes of entries of a tree that are not files.
const (
	modeLink      = "120000"
	modeSubmodule = "160000"
)

// statuses maps the letters of git diff --raw to values of client.ChangedFile.Status.
var statuses = map[byte]string{
	'A': client.FileAdded, 'C': client.FileAdded, 'M': client.FileModified, 'D': client.FileDeleted,
	'R': client.FileRenamed, 'T': client.FileTypeChanged, 'U': client.FileConflicted,
}

// compare reads how the tracked files differ from the base commit, by git diff. A file that was listed before as changed and does
// not differ is removed from the list, except if its staged change is undone in the working tree.
func (r *reader) compare(ctx context.Context) error {
	args := append([]string{"diff", "--raw", "--numstat", "-z"}, compareFlags...)
	out, cut, err := r.git.run(ctx, nil, append(args, r.base(), "--")...)
	if err != nil {
		return err
	}
	if cut {
		r.cut("git diff has more than %d MiB of output, so some files are missing", maxOutput>>20)
	}
	differs := map[string]bool{}
	fields(out, func(field string, next func() string) {
		if strings.HasPrefix(field, ":") {
			e := r.addRaw(field, next)
			differs[e.path] = true
		} else {
			r.addCounts(field, next)
		}
	})
	for path, e := range r.files {
		switch {
		case e.special:
			e.Status, e.Kind, e.Cut = client.FileTypeChanged, client.KindSpecial, notRead
		case differs[path], e.Status == client.FileConflicted:
		case r.query.Since == client.SinceHead:
			e.Status, e.Cut = client.FileModified, "its staged change is undone in the file, so it does not differ from the commit"
		default:
			delete(r.files, path)
		}
	}
	return nil
}

// addRaw adds a changed file from one field of the output of git diff --raw. next returns the
// following fields, which are its paths.
func (r *reader) addRaw(field string, next func() string) *entry {
	parts := strings.Fields(strings.TrimPrefix(field, ":")) // modes, objects, status
	letter, path, old := byte('M'), next(), ""
	mode := ""
	if len(parts) == 5 {
		letter, mode = parts[4][0], parts[1]
		if letter == 'D' {
			mode = parts[0]
		}
	}
	if letter == 'R' || letter == 'C' {
		old, path = path, next()
	}
	e := r.entryOf(path)
	if e.Status == client.FileConflicted {
		return e
	}
	e.Status = statuses[letter]
	if letter == 'R' {
		e.oldPath = old
		if from := r.files[old]; from != nil {
			e.Staged, e.Unstaged = e.Staged || from.Staged, e.Unstaged || from.Unstaged
			delete(r.files, old)
		}
	}
	switch mode {
	case modeLink:
		e.Kind = client.KindLink
	case modeSubmodule:
		e.Kind = client.KindSubmodule
	}
	return e
}

// addCounts adds the numbers of added and removed lines of a file from one field of the output of
// git diff --numstat. next returns the following fields.
func (r *reader) addCounts(field string, next func() string) {
	added, rest, _ := strings.Cut(field, "\t")
	removed, path, _ := strings.Cut(rest, "\t")
	if path == "" { // renamed: the old and the new path follow
		next()
		path = next()
	}
	e := r.files[path]
	if e == nil {
		return
	}
	if e.Binary = added == "-"; e.Binary {
		return
	}
	e.Added, _ = strconv.Atoi(added) // git prints numbers
	e.Removed, _ = strconv.Atoi(removed)
}

// compareConflicts counts the lines by which files with a conflict differ from the version of the
// checked-out branch.
func (r *reader) compareConflicts(ctx context.Context) error {
	paths := r.conflicts()
	if len(paths) == 0 {
		return nil
	}
	args := append([]string{"diff", "--ours", "--numstat", "-z"}, compareFlags...)
	out, _, err := r.git.run(ctx, nil, append(append(args, "--"), paths...)...)
	fields(out, func(field string, next func() string) { r.addCounts(field, next) })
	return err
}

// conflicts returns the paths of files with a conflict that git can read.
func (r *reader) conflicts() []string {
	var paths []string
	for path, e := range r.files {
		if e.Status == client.FileConflicted && !e.special {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths[:min(len(paths), maxPaths)]
}

// readUntracked adds the files that git neither tracks nor ignores.
func (r *reader) readUntracked(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, untrackedLimit)
	defer cancel()
	out, cut, err := r.git.run(ctx, nil, "ls-files", "--others", "--exclude-standard", "-z")
	if errors.Is(err, context.DeadlineExceeded) && parent.Err() == nil {
		r.cut("files that git does not track are missing: their search takes longer than %s", untrackedLimit)
		return nil
	}
	if cut {
		r.cut("some files that git does not track are missing: their list has more than %d MiB", maxOutput>>20)
	}
	fields(out, func(path string, _ func() string) {
		e := r.entryOf(path)
		e.Untracked = true
		if e.Status == "" {
			e.Status = client.FileUntracked
		}
	})
	return err
}

// selected returns the changed files that the query asks for, sorted by path.
func (r *reader) selected() []*entry {
	wanted := []string{r.query.Path}
	if below, err := filepath.Rel(r.repo.Root, r.out.WorkDir); err == nil && below != "." && filepath.IsLocal(below) {
		wanted = append(wanted, filepath.Join(below, r.query.Path)) // relative to the working directory
	}
	list := []*entry{}
	for _, want := range wanted {
		for _, e := range r.files {
			if r.query.Path == "" || want == "." || isBelow(e.path, want) || isBelow(e.oldPath, want) {
				list = append(list, e)
			}
		}
		if len(list) > 0 {
			break
		}
	}
	byPath := func(a, b *entry) int { return strings.Compare(a.path, b.path) }
	if len(list) > maxFiles {
		r.cut("the list has only %d of %d files, those that git tracks first", maxFiles, len(list))
		slices.SortFunc(list, func(a, b *entry) int {
			return cmp.Or(cmp.Compare(untrackedRank(a), untrackedRank(b)), byPath(a, b))
		})
		list = list[:maxFiles]
	}
	slices.SortFunc(list, byPath)
	return list
}

// untrackedRank returns 1 for a file that git does not track, else 0.
func untrackedRank(e *entry) int {
	if e.Status == client.FileUntracked {
		return 1
	}
	return 0
}

// isBelow reports whether path is dir or below it.
func isBelow(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}
