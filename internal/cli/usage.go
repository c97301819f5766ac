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
		Use:   "usage",
		Short: "Show tokens and cost, and what budgets have left",
		Long: `Sums up what agents reported of their model's responses: each response once, with its tokens by kind,
and its cost as reported, or by the price table. "unknown" means not reported, and "≥" at least; costs
without "≥" are complete.`,
		Example: "  gc usage\n  gc usage --by model --since 7d\n  gc usage budgets\n  gc usage lift day\n  gc usage prices > prices.toml",
		Args:    cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdenv.OneOf(cmd, "--by", by, groupings()...); err != nil {
				return err
			}
			from, err := a.ParseTime("--since", cmp.Or(since, "24h"))
			if err != nil {
				return err
			}
			return a.OnCity(func(c *client.Client) error {
				u, err := c.Usage(cmd.Context(), client.UsageRequest{By: by, Since: from})
				switch {
				case err != nil:
					return err
				case len(u.Groups) == 0 && !a.JSON:
					a.Messagef("%s, as far as workers report usage", nothing(by))
					return nil
				}
				return a.Show(u, func(s render.Formatter) string { return s.Usage(u) })
			})
		},
	}
	cmd.Flags().StringVar(&by, "by", "agent", "what is summed up: agent, model, day or tool")
	cmd.Flags().StringVar(&since, "since", "", "from which `time` on: a duration such as 7d, or a moment (default 24h)")
	cmdenv.Words(cmd, "by", groupings()...)
	cmd.AddCommand(budgetsCommand(a), liftCommand(a), pricesCommand(a))
	return a.AddJSONFlag(cmd)
}

// groupings returns what can be summed up.
func groupings() []string { return []string{"agent", "model", "day", "tool"} }

func pricesCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "prices",
		Short: "List the built-in price table",
		Long: `Prints the price table as a file that you can change; its first lines say how to name it in city.toml.
A running city uses it at once for everything whose cost the agent did not report.`,
		Example: "  gc usage prices > prices.toml",
		Args:    cmdenv.Between(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if a.JSON {
				return a.PrintJSON(map[string]string{"toml": string(usage.Table())})
			}
			_, err := a.Stdout.Write(usage.Table())
			return err
		},
	})
}

// nothing says of what there is none.
func nothing(by string) string {
	if by == "tool" {
		return "no tool use reported yet"
	}
	return "no usage reported yet"
}

func budgetsCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "budgets",
		Short: "Show how much of each budget is used",
		Long: `Lists each budget of city.toml for each agent, session or city that it applies to: what is used in its
window, its limit, and what happens when it is used up.`,
		Args: cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.OnCity(func(c *client.Client) error {
				list, err := c.Budgets(cmd.Context())
				switch {
				case err != nil:
					return err
				case len(list) == 0 && !a.JSON:
					a.Messagef("there is no budget; add one to %s: [[usage.budgets]]", client.CityFile)
					return nil
				}
				return a.Show(cmdenv.Rows("budgets", list), func(s render.Formatter) string { return s.Budgets(list) })
			})
		},
	})
}

func liftCommand(a *app) *cobra.Command {
	var who string
	cmd := &cobra.Command{
		Use:   "lift BUDGET",
		Short: "Reset a budget that is used up",
		Long: `Past spending no longer counts for that budget: for every agent that has used it up, or for one agent or
session. What the budget held back continues. gc usage still shows what was spent.`,
		Example: "  gc usage lift day\n  gc usage lift day --for worker",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnID(cmd.Context(), args[0], budgetNames, func(c *client.Client) error {
				done, err := c.LiftBudget(cmd.Context(), args[0], client.LiftRequest{Who: who})
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(done)
				}
				a.Messagef("%s", done.Detail)
				return nil
			})
		},
		ValidArgsFunction: a.Candidates(1, budgetNames),
	}
	cmd.Flags().StringVar(&who, "for", "", "only this `agent` or session")
	return a.AddJSONFlag(cmd)
}

func budgetNames(ctx context.Context, c *client.Client) ([]string, error) {
	list, err := c.Budgets(ctx)
	var names []string
	for _, b := range list {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
