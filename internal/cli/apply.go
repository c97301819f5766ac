package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
)

func applyCommand(a *app) *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use:   "apply [AGENT...]",
		Short: "Apply city.toml now",
		Long: `Makes the controller read city.toml, and lists the actions that are still to be done. The controller
also reads city.toml by itself when the file is saved. A change that must stop an agent waits until the
agent has finished its turn; if an agent's activity is unknown, gc asks you first (see gc pending). With
--now the changes do not wait: gc restarts the named agents, or every agent with a waiting change.
If city.toml has errors, they are printed, the previous configuration stays active and the exit status
is 1.`,
		Example: "  gc apply\n  gc apply --now coder",
		Args:    cmdenv.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !now && len(args) > 0 {
				return cmdenv.Usage(cmd, "agents can be named only with --now")
			}
			return a.OnCity(func(c *client.Client) error { return a.apply(cmd.Context(), c, now, args) })
		},
		ValidArgsFunction: a.CompleteAgents,
	}
	cmd.Flags().BoolVar(&now, "now", false, "do not wait for the end of turns, questions and attached terminals")
	return a.AddJSONFlag(cmd)
}

// apply makes the controller read city.toml. With now it then carries out the changes of the named agents (of all if
// targets is empty) at once; otherwise it prints the actions that are still to be done. If the controller refuses
// city.toml, apply prints the mistakes and returns an error.
func (a *app) apply(ctx context.Context, c *client.Client, now bool, targets []string) error {
	if _, err := c.Reload(ctx); err != nil {
		if !errors.Is(err, client.ErrInvalid) {
			return err
		}
		return cmp.Or(a.refusedConfiguration(ctx, c.Root, strings.TrimPrefix(err.Error(), client.ErrInvalid.Error()+": "), "still running with the previous configuration"), err)
	}
	if now {
		done, err := c.Apply(ctx, targets...)
		return a.PrintResult(done, err, done.Detail)
	}
	plan, err := c.Plan(ctx)
	if err != nil {
		return err
	}
	return a.showPlan(ctx, c, plan)
}
