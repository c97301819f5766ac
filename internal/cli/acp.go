package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/acp/server"
	"gascity/internal/cli/cmdenv"
)

func acpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "acp AGENT",
		Short: "Serve an agent to an editor (Agent Client Protocol)",
		Long: `Speaks the Agent Client Protocol on standard input and output, so that an editor can use the agent on
any host and runtime provider. Prompts from the editor are delivered like those of gc send. Questions of
the agent appear in the editor, and cancel there interrupts the turn. The session belongs to the city:
it keeps running when the editor is closed, and others can send prompts to it too.`,
		Example: "  gc acp worker --city ~/city",
		Args:    cmdenv.Between(1, 1),
		RunE: a.TargetAction(func(ctx context.Context, c *client.Client, name string) error {
			return server.Serve(ctx, server.Options{
				City: c, Agent: name, Version: a.Version, In: a.Stdin, Out: cmdenv.Raw(a.Stdout),
				By: cmp.Or(a.Getenv("USER"), a.Getenv("LOGNAME"), "editor"),
			})
		}),
		ValidArgsFunction: a.CompleteAgent,
	}
}
