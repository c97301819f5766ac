package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

func applyCommand(a *app) *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use:   "apply [AGENT...]",
		Short: "Apply city.toml now",
		Long: `Reads city.toml again and shows what is left to do. A running controller also reads a saved city.toml
by itself. A change that stops an agent waits until the agent has finished its turn; if an agent's
activity is unknown, gc asks you first (see gc pending). With --now nothing is waited for: the named
agents, or all that a change waits for, are stopped and started as city.toml says.`,
		Example: "  gc apply\n  gc apply --now coder",
		Args:    cmdenv.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !now && len(args) > 0 {
				return cmdenv.Usage(cmd, "naming agents goes with --now")
			}
			return a.OnCity(func(c *client.Client) error { return a.apply(cmd.Context(), c, now, args) })
		},
		ValidArgsFunction: a.CompleteAgents,
	}
	cmd.Flags().BoolVar(&now, "now", false, "do not wait for the end of turns, questions and attached terminals")
	return a.AddJSONFlag(cmd)
}

func (a *app) apply(ctx context.Context, c *client.Client, now bool, targets []string) error {
	if _, err := c.Reload(ctx); err != nil {
		root, rootErr := a.Root()
		if rootErr != nil || !errors.Is(err, client.ErrInvalid) {
			return err
		}
		return cmp.Or(a.refusedConfiguration(ctx, root, strings.TrimPrefix(err.Error(), client.ErrInvalid.Error()+": "), "still running with the previous configuration"), err)
	}
	if now {
		done, err := c.Apply(ctx, targets...)
		if err != nil {
			return err
		}
		return a.PrintResult(done, done.Detail)
	}
	plan, err := c.Plan(ctx)
	if err != nil {
		return err
	}
	if !a.JSON && a.Formatter().Plan(plan) == "" {
		a.Messagef("nothing to do: the city is as its configuration says")
		return nil
	}
	return a.Show(plan, func(s render.Formatter) string { return s.Plan(plan) })
}
