package cli

import (
	"io"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/docgen"
)

// docsCommand returns the hidden commands that generate documentation from the commands.
func docsCommand(a *app) *cobra.Command {
	markdown := &cobra.Command{
		Use: "markdown", Short: "Print the reference of all commands", Args: cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(a.Stdout, docgen.Reference(cmd.Root()))
			return err
		},
	}
	man := &cobra.Command{
		Use: "man DIR", Short: "Write a manual page for each command", Args: cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return docgen.Write(cmd.Root(), a.Path(args[0]), a.Version)
		},
	}
	docs := cmdenv.Group("docs", "Generate documentation: markdown, man", "", markdown, man)
	docs.Hidden = true
	return docs
}
