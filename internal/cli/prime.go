package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/cli/desk"
)

func primeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "prime [AGENT]",
		Short: "Tell an agent who and where it is",
		Long: `Prints the agent's rendered prompt. Agents run it themselves; without a name it is the agent in whose
session it is run ($GC_AGENT). No controller is needed.`,
		Args: desk.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, "")
			if name == "" {
				name = a.Getenv("GC_AGENT")
			}
			if name == "" {
				return desk.Usage(cmd, "which agent? GC_AGENT is not set, so name one: gc prime AGENT")
			}
			daemon, root, err := a.daemonAndRoot()
			if err != nil {
				return err
			}
			text, err := daemon.Prime(cmd.Context(), root, name)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, strings.TrimRight(text, "\n"))
			return nil
		},
		ValidArgsFunction: a.CompleteAgent,
	}
}
