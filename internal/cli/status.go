package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/cli/page"
)

func statusCommand(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:     "status",
		Aliases: []string{"ps", "ls"},
		Short:   "List the agents and what they do",
		Long: `Shows the controller, whether the configuration on disk is in force, and each agent: STATE is the
session's life, ACTIVITY what the agent does (a question mark stands after a guess), UP how long it
runs, OUTPUT when it last printed something, PENDING how many questions wait for a person, QUEUED how
many prompts wait for it, SPENDS how many tokens a minute and dollars an hour it took over the last ten
minutes, as far as that is known (? is not, + is at least so much), PLACE where it runs, if not all run
at the same provider. With --watch the picture follows the city until it is interrupted.`,
		Args: desk.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.OnCity(func(c *client.Client) error {
				if watch {
					return a.Watch(cmd.Context(), c, func(ctx context.Context) error { return a.watchStatus(ctx, c) })
				}
				status, err := c.Status(cmd.Context())
				if err != nil {
					return err
				}
				return a.Show(status, func(s page.Sheet) string { return s.Status(status) })
			})
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "follow the city; with --json one status a line")
	return a.Listing(cmd)
}

func (a *app) watchStatus(ctx context.Context, c *client.Client) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(status)
	}
	s := a.Sheet()
	s.Rows = a.Rows()
	return a.Picture(s.Status(status))
}
