package agentcmd

import (
	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

func explainCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "explain AGENT",
		Short: "Explain an agent's state and what happens next",
		Long: `Shows everything that decides about an agent: its state and activity with the source and age of each
signal, what the controller wants and why it acts or not, what it does next and when, how the last run
ended, open questions, queued prompts, and the latest events.`,
		Args: cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				e, err := c.Explain(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.Show(e, func(s render.Formatter) string { return s.Explanation(e) })
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	})
}
