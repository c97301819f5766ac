package client

import (
	"context"
	"net/http"
)

// Since selects the commit with which changed files are compared.
type Since string

// The values of Since.
const (
	SinceHead   Since = "head"   // the checked-out commit: what is not committed
	SinceBranch Since = "branch" // where the branch left the main branch: also what is committed on it
)

// The limits of [ChangesQuery].Bytes.
const (
	DefaultDiffBytes = 512 << 10
	MaxDiffBytes     = 4 << 20
)

// MaxCommits is the largest value of Changes.Commits; it then means "this many or more".
const MaxCommits = 1000

// The values of ChangedFile.Status.
const (
	FileAdded       = "added"
	FileModified    = "modified"
	FileDeleted     = "deleted"
	FileRenamed     = "renamed"      // from OldPath
	FileTypeChanged = "type_changed" // for example, a file became a symbolic link
	FileUntracked   = "untracked"    // git does not track it
	FileConflicted  = "conflicted"   // a merge left a conflict
)

// The values of ChangedFile.Kind.
const (
	KindFile       = ""           // a regular file
	KindLink       = "link"       // a symbolic link
	KindSubmodule  = "submodule"  // another commit of a submodule is checked out
	KindRepository = "repository" // a repository that git does not track
	KindSpecial    = "special"    // a pipe, a socket or a device, which is never opened
)

// Changes are the differences between a working tree and a commit of its git repository.
type Changes struct {
	Agent   string `json:"agent"`
	Session string `json:"session"`
	WorkDir string `json:"work_dir"` // the agent's working directory
	Root    string `json:"root"`     // the top directory of the working tree, WorkDir or above it; paths are relative to it

	Branch    string `json:"branch,omitempty"`    // empty: no branch is checked out
	Head      string `json:"head,omitempty"`      // the checked-out commit; empty: there is none yet
	Operation string `json:"operation,omitempty"` // "merge", "rebase" or another operation that is not complete
	Main      string `json:"main,omitempty"`      // the main branch, such as "origin/main"; empty: none was found
	Commits   int    `json:"commits,omitempty"`   // the number of commits of Head that Main does not have, see MaxCommits
	Since     Since  `json:"since"`
	Base      string `json:"base,omitempty"` // the commit of Since; empty: there is none yet

	Files   []ChangedFile `json:"files"`         // sorted by path
	Added   int           `json:"added"`         // sum over Files
	Removed int           `json:"removed"`       // sum over Files
	Cut     []string      `json:"cut,omitempty"` // why Files or the diffs are not complete, one sentence each
}

// ChangedFile is one changed file. A path with a double quote, a backslash, control characters or
// bytes that are not UTF-8 is in double quotes with escapes, as git prints it.
type ChangedFile struct {
	Path     string `json:"path"`
	OldPath  string `json:"old_path,omitempty"`
	Status   string `json:"status"`
	Kind     string `json:"kind,omitempty"`
	Staged   bool   `json:"staged,omitempty"`   // the index differs from the checked-out commit
	Unstaged bool   `json:"unstaged,omitempty"` // the file differs from the index
	// Untracked reports that git does not track the file. With another status than FileUntracked, it
	// was also removed from the index.
	Untracked bool   `json:"untracked,omitempty"`
	Binary    bool   `json:"binary,omitempty"`
	Added     int    `json:"added"`               // lines
	Removed   int    `json:"removed"`             // lines
	Uncounted bool   `json:"uncounted,omitempty"` // Added and Removed are not counts: the file is too large
	Diff      string `json:"diff,omitempty"`      // in the unified format; only if the query wants it
	Cut       string `json:"cut,omitempty"`       // why Diff is not complete
}

// ChangesQuery selects changed files. The zero value selects all uncommitted changes without diffs.
type ChangesQuery struct {
	Path  string // only this file, or what is in this directory; as in ChangedFile.Path
	Since Since  // empty: SinceHead
	Diff  bool   // with diffs
	Bytes int    // maximum size of all diffs together; zero: DefaultDiffBytes
}

// Changes returns the changed files of the target's working directory. The working directory is read
// as it is now, also if the target does not run. A directory without a git working tree is
// [ErrRefused]. Without git on the controller's machine the error is [ErrUnavailable], and for a
// runtime provider whose sessions are not on that machine [ErrUnsupported].
func (c *Client) Changes(ctx context.Context, name string, q ChangesQuery) (Changes, error) {
	parameters := query(map[string]string{"path": q.Path, "since": string(q.Since), "diff": flag(q.Diff), "bytes": count(q.Bytes)})
	return callLong[Changes](ctx, c, http.MethodGet, target(name, "changes")+parameters, nil)
}
