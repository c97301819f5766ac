package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/cli/page"
)

func planCommand(a *app) *cobra.Command {
	return a.Listing(&cobra.Command{
		Use:   "plan [FILE]",
		Short: "What the controller would do now, and why",
		Long: `Compares the configuration in force with what runs; with a FILE that configuration instead: what an
edit would do. Nothing is changed.`,
		Example: "  gc plan\n  gc plan city.new.toml",
		Args:    desk.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnCity(func(c *client.Client) error {
				plan, err := a.plan(cmd.Context(), c, args)
				if err != nil {
					return err
				}
				if !a.JSON && a.Sheet().Plan(plan) == "" {
					a.Talk("nothing to do: the city is as its configuration says")
					return nil
				}
				return a.Show(plan, func(s page.Sheet) string { return s.Plan(plan) })
			})
		},
	})
}

func (a *app) plan(ctx context.Context, c *client.Client, args []string) (client.Plan, error) {
	if len(args) == 0 {
		return c.Plan(ctx)
	}
	path := a.Path(args[0])
	if err := desk.Exists(path, args[0]); err != nil {
		return client.Plan{}, err
	}
	config, err := os.ReadFile(path)
	if err != nil {
		return client.Plan{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return c.Preview(ctx, client.PreviewRequest{Config: string(config), Path: path})
}
