package cli

import (
	"io"

	"github.com/spf13/cobra"

	"gascity/internal/cli/desk"
	"gascity/internal/cli/manual"
)

// docsCommand makes documentation from the commands themselves.
func docsCommand(a *app) *cobra.Command {
	markdown := &cobra.Command{
		Use: "markdown", Short: "Print the reference of all commands", Args: desk.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(a.Stdout, manual.Reference(cmd.Root()))
			return err
		},
	}
	man := &cobra.Command{
		Use: "man DIR", Short: "Write a manual page for each command", Args: desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return manual.Write(cmd.Root(), a.Path(args[0]), a.Version)
		},
	}
	docs := desk.Group("docs", "Make documentation: markdown, man", "", markdown, man)
	docs.Hidden = true
	return docs
}
