package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// diffPatience is longer than the controller's time limit for git.
const diffPatience = time.Minute

func diffCommand(a *app) *cobra.Command {
	var stat, branch bool
	cmd := &cobra.Command{
		Use:   "diff AGENT [PATH]",
		Short: "Show which files an agent changed",
		Long: `Shows the uncommitted changes in the git working tree of an agent's working directory, also of files
that git does not track yet. PATH selects a file or a directory, relative to the top of the working
tree. --branch also shows what is committed on the branch since it left the main branch: origin/HEAD,
main or master. It also works if the agent does not run.

git runs without the configuration, the hooks and the filters of the repository, because the agent
can change them. Control characters of the files are replaced. Long diffs are cut, and a message says
so; with PATH, the limit is larger. A directory without a git working tree is an error, and so is an
agent on another host or in a pod.`,
		Example: "  gc diff coder\n  gc diff coder --stat\n  gc diff coder src/cart.go\n  gc diff coder --branch",
		Args:    cmdenv.Between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := client.ChangesQuery{Path: cmdenv.First(args[1:]), Diff: !stat, Bytes: client.MaxDiffBytes}
			if branch {
				q.Since = client.SinceBranch
			}
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error { return a.diff(cmd.Context(), c, args[0], q) })
		},
		ValidArgsFunction: a.completeChangedFile,
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "only list the files, with the numbers of changed lines")
	cmd.Flags().BoolVar(&branch, "branch", false, "also show what is committed on the branch")
	return a.AddJSONFlag(cmd)
}

// diff prints the files that an agent changed: their diffs and a summary, or with --stat only a table. Missing parts
// are reported on standard error.
func (a *app) diff(ctx context.Context, c *client.Client, name string, q client.ChangesQuery) error {
	ctx, cancel := context.WithTimeoutCause(ctx, diffPatience, fmt.Errorf("%w: the controller has not answered for %s; check it with: gc doctor", client.ErrTimeout, textfmt.Duration(diffPatience)))
	defer cancel()
	changes, err := c.Changes(ctx, name, q)
	err = a.Show(changes, err, func(s render.Formatter) string {
		switch {
		case len(changes.Files) == 0:
			return ""
		case q.Diff:
			return s.Diffs(changes)
		}
		return s.ChangedFiles(changes)
	})
	if err != nil {
		return err
	}
	for _, why := range changes.Cut {
		a.Messagef("gc: the list of changed files is not complete: %s", textfmt.OneLine(why))
	}
	for _, f := range changes.Files {
		if q.Diff && f.Cut != "" {
			a.Messagef("gc: %s: %s", textfmt.OneLine(f.Path), textfmt.OneLine(f.Cut))
		}
	}
	if q.Path != "" && len(changes.Files) == 0 {
		a.Messagef("no changed file is called %q; to list them: gc diff %s --stat", textfmt.OneLine(q.Path), name)
		return nil
	}
	a.Messagef("%s", a.Formatter().ChangesSummary(changes))
	return nil
}

// completeChangedFile completes the first argument with agents' names and the second one with the
// agent's changed files.
func (a *app) completeChangedFile(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return a.CompleteAgent(cmd, args, word)
	}
	return a.Candidates(2, func(ctx context.Context, c *client.Client) ([]string, error) {
		changes, err := c.Changes(ctx, args[0], client.ChangesQuery{})
		var paths []string
		for _, f := range changes.Files {
			paths = append(paths, f.Path)
		}
		return paths, err
	})(cmd, args, word)
}
