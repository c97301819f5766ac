package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

func planCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "plan [FILE]",
		Short: "Show what the controller would do, and why",
		Long: `Compares the active configuration with the running agents, and lists what the controller would do. With
a FILE it uses that configuration instead: check an edit before you save it as city.toml. Nothing is
changed. If the controller refused city.toml, the plan is that of the previous configuration, and the
exit status is 1.`,
		Example: "  gc plan\n  gc plan city.new.toml",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnCity(func(c *client.Client) error {
				plan, err := a.plan(cmd.Context(), c, args)
				if err != nil {
					return err
				}
				if len(args) == 0 {
					if refused, err := a.refusedPlan(cmd.Context(), c); err != nil || refused != nil {
						return errors.Join(a.Show(plan, func(s render.Formatter) string { return s.Plan(plan) }), err, refused)
					}
				}
				return a.showPlan(plan)
			})
		},
	})
}

// showPlan prints a plan, or a message if there is nothing to do.
func (a *app) showPlan(plan client.Plan) error {
	if a.Formatter().Plan(plan) == "" {
		return a.PrintResult(plan, "nothing to do: the city matches its configuration")
	}
	return a.Show(plan, func(s render.Formatter) string { return s.Plan(plan) })
}

// refusedPlan returns an error in refused if the controller has refused the current city.toml. It
// has printed that the plan is that of the previous configuration then.
func (a *app) refusedPlan(ctx context.Context, c *client.Client) (refused, err error) {
	status, err := c.Status(ctx)
	if err != nil || status.Plan.Error == "" {
		return nil, err
	}
	root, err := a.Root()
	if err != nil {
		return nil, err
	}
	return a.refusedConfiguration(ctx, root, status.Plan.Error, "this is the plan of the previous configuration"), nil
}

// plan returns the plan of the active configuration, or of the file in args.
func (a *app) plan(ctx context.Context, c *client.Client, args []string) (client.Plan, error) {
	if len(args) == 0 {
		return c.Plan(ctx)
	}
	path := a.Path(args[0])
	if err := cmdenv.Exists(path, args[0]); err != nil {
		return client.Plan{}, err
	}
	config, err := os.ReadFile(path)
	if err != nil {
		return client.Plan{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return c.Preview(ctx, client.PreviewRequest{Config: string(config), Path: path})
}
