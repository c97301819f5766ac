package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/domain/usage"
)

func usageCommand(a *app) *cobra.Command {
	var by, since string
	cmd := &cobra.Command{
		Use:   "usage [AGENT]",
		Short: "Show tokens and cost, and what budgets have left",
		Long: `Adds up the tokens and the cost of the model responses that agents reported; each response counts once.
The cost is the reported one, else it is calculated from the price table. "unknown" means not reported,
and "≥" means at least, because some values were not reported. With AGENT it shows the usage of that
agent over time: by hour unless --by says otherwise.`,
		Example: "  gc usage\n  gc usage coder\n  gc usage coder --by day --since 30d\n  gc usage --by model --since 7d\n  gc usage budgets\n  gc usage lift day\n  gc usage prices > prices.toml",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmdenv.OneOf(cmd, "--by", by, groupings()...); err != nil {
				return err
			}
			from, err := a.ParseTime("--since", cmp.Or(since, "24h"))
			if err != nil {
				return err
			}
			by := by
			if len(args) > 0 && by == "" {
				by = "hour"
			}
			return a.OnTargetIfAny(cmd.Context(), args, func(c *client.Client) error {
				u, err := c.Usage(cmd.Context(), client.UsageRequest{By: by, Since: from, Target: cmdenv.First(args)})
				if err == nil && len(u.Groups) == 0 && !a.JSON {
					a.Messagef("%s", noUsage(by))
					return nil
				}
				return a.Show(u, err, func(s render.Formatter) string { return s.Usage(u) })
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&by, "by", "", "group by `field`: agent, model, hour, day or tool (default agent)")
	cmd.Flags().StringVar(&since, "since", "", "only usage after this `time`: a duration such as 7d, or a date and time (default 24h)")
	cmdenv.Words(cmd, "by", groupings()...)
	cmd.AddCommand(budgetsCommand(a), liftCommand(a), pricesCommand(a))
	return a.AddJSONFlag(cmd)
}

// groupings returns the values of --by.
func groupings() []string { return []string{"agent", "model", "hour", "day", "tool"} }

func pricesCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "prices",
		Short: "List the built-in price table",
		Long: `Prints the price table as a TOML file that you can edit. Comments in the file explain how to use it in
city.toml. A running controller then applies it at once to responses without a reported cost.`,
		Example: "  gc usage prices > prices.toml",
		RunE: func(*cobra.Command, []string) error {
			return a.Show(map[string]string{"toml": string(usage.Table())}, nil, func(render.Formatter) string { return string(usage.Table()) })
		},
	})
}

// noUsage returns the message for an empty list.
func noUsage(by string) string {
	if by == "tool" {
		return "no tool use reported yet"
	}
	return "no usage reported yet"
}

func budgetsCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "budgets",
		Short: "Show how much of each budget is used",
		Long: `Lists each budget of city.toml, once for each agent, session or city to which it applies: the amount
used in its time window, its limit, and what gc does when the limit is reached.`,
		Example: "  gc usage budgets",
		RunE: cmdenv.List[client.Budget]{
			Ask: func(c *client.Client, ctx context.Context, _ string, _ client.Which) ([]client.Budget, error) {
				return c.Budgets(ctx)
			},
			Format: render.Formatter.Budgets, Empty: "no budgets; to add one, write [[usage.budgets]] into " + client.CityFile, Name: "budgets",
		}.Run(&a.Base, &cmdenv.Flags{}),
	})
}

func liftCommand(a *app) *cobra.Command {
	var who string
	cmd := &cobra.Command{
		Use:   "lift BUDGET",
		Short: "Reset a budget that is used up",
		Long: `Resets a budget: usage until now no longer counts for it. Prompts and agents that it held back
continue. With --for it resets the budget for one agent or session only. gc usage still shows all
usage. If there is no such budget, the exit status is 3.`,
		Example: "  gc usage lift day\n  gc usage lift day --for worker",
		Args:    cmdenv.Between(1, 1),
		RunE: a.IDAction(budgetNames, func(ctx context.Context, c *client.Client, id string) error {
			done, err := c.LiftBudget(ctx, id, client.LiftRequest{Who: who})
			return a.PrintResult(done, err, done.Detail)
		}),
		ValidArgsFunction: a.Candidates(1, budgetNames),
	}
	cmd.Flags().StringVar(&who, "for", "", "only this `agent` or session")
	return a.AddJSONFlag(cmd)
}

// budgetNames returns the names of the city's budgets, sorted.
func budgetNames(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Budgets(ctx)
	var names []string
	for _, b := range list {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
