package controlapi

import (
	"context"

	"gascity/client"
)

// changesInput selects changed files.
type changesInput struct {
	Named
	Path  string       `query:"path" maxLength:"4096" doc:"only this file, or what is in this directory; relative to the top of the working tree"`
	Since client.Since `query:"since" enum:"head,branch" doc:"compare with the checked-out commit (head, the default), or with the commit at which the branch left the main branch"`
	Diff  bool         `query:"diff" doc:"with the diffs of the files"`
	Bytes int          `query:"bytes" minimum:"0" maximum:"4194304" doc:"maximum size of all diffs together in bytes; 0: 524288"`
}

// changes returns the changed files of a session's working directory.
func changes(ctx context.Context, city City, in *changesInput) (client.Changes, error) {
	return city.Changes(ctx, in.Target, client.ChangesQuery{Path: in.Path, Since: in.Since, Diff: in.Diff, Bytes: in.Bytes})
}
