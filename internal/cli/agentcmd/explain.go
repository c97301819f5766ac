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
		Long: `Shows the state of an agent and its reasons: its activity with the source and age of each signal, the
desired state, what the controller does next and when, and why. Below that are open questions, queued
prompts, how the last run ended, and the latest events. Use it if an agent does not do what you expect.
If there is no such agent, the exit status is 3.`,
		Example: "  gc explain coder",
		Args:    cmdenv.Between(1, 1),
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
