package cli

import (
	"context"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

func explainCommand(a *app) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:   "explain AGENT",
		Short: "Explain an agent's state and what happens next",
		Long: `Shows why an agent is in its state. If it has a problem: what is wrong, since when, the command that
fixes it, and what the controller does next. If it has none: its activity with the source and age of
each signal, the desired state, and the latest events. Use it if an agent does not do what you expect.
With -v it shows everything: all signals, queued prompts, how the last run ended, the facts about its
session, process and store, and more events. If there is no such agent, the exit status is 3.`,
		Example: "  gc explain coder",
		Args:    cmdenv.Between(1, 1),
		RunE: a.TargetAction(func(ctx context.Context, c *client.Client, name string) error {
			e, err := c.Explain(ctx, name)
			return a.Show(e, err, func(s render.Formatter) string { s.Verbose = verbose; return s.Explanation(e) })
		}),
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show all signals, facts and events")
	return a.AddJSONFlag(cmd)
}
