package agent

import (
	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/cli/page"
)

func explainCommand(a *app) *cobra.Command {
	return a.Listing(&cobra.Command{
		Use:   "explain AGENT",
		Short: "Explain an agent's state and what happens next",
		Long: `Shows what the controller knows of an agent: its state and activity with the source and age of each
piece of evidence, what the controller wants and why it does or does not act, what it does next and
when, how the last incarnation ended with its own words, open questions, prompts on their way, and the
last events.`,
		Args: desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				e, err := c.Explain(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.Show(e, func(s page.Sheet) string { return s.Explanation(e) })
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	})
}
