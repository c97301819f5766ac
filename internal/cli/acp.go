package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/cli/editor"
)

func acpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "acp AGENT",
		Short: "Serve an agent to an editor (Agent Client Protocol)",
		Long: `Speaks that protocol on standard input and output, as an agent: an editor that runs such agents drives
the session, wherever it is, also one in a terminal. A prompt is one with a receipt; questions are asked
in the editor; cancelling interrupts the turn. The session is the city's: it lives on when the editor
goes, and others may prompt it too.`,
		Example: "  gc acp worker --city ~/city",
		Args:    desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				return editor.Serve(cmd.Context(), editor.Options{
					City: c, Agent: args[0], Version: a.Version, In: a.Stdin, Out: desk.Raw(a.Stdout),
					By: cmp.Or(a.Getenv("USER"), a.Getenv("LOGNAME"), "editor"),
				})
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
}
