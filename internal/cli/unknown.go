package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/textfmt"
)

// helpWidth is the largest width of help texts, in columns.
const helpWidth = 80

// wrapHelp makes root and its subcommands wrap their help to [helpWidth].
func wrapHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("wrapped", func(text string) string { return textfmt.WrapParagraphs(strings.TrimSpace(text), helpWidth) })
	root.SetHelpTemplate(`{{with (or .Long .Short)}}{{. | wrapped}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`)
	usage := strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 ")
	root.SetUsageTemplate(usage)
}

// otherWords maps command words of other tools to the gc command that does the same.
var otherWords = map[string]string{
	"agents": "gc status", "list": "gc status",
	"watch": "gc top", "htop": "gc top",
	"prompt": "gc send AGENT TEXT", "tell": "gc send AGENT TEXT", "ask": "gc send AGENT TEXT",
	"run": "gc start", "up": "gc start", "down": "gc stop",
	"new": "gc init", "create": "gc init",
	"suspend": "gc stop AGENT", "pause": "gc stop AGENT", "rm": "gc destroy", "purge": "gc destroy",
	"tail": "gc logs AGENT -f", "log": "gc logs AGENT", "show": "gc session show AGENT",
	"answer": "gc respond ID ANSWER", "questions": "gc pending", "validate": "gc config check",
}

// unknownCommand returns the usage error for a word that is no command of gc, with a suggestion.
func unknownCommand(root *cobra.Command, name string) error {
	if same, ok := otherWords[name]; ok {
		return cmdenv.Usage(root, "gc has no command %q; use: %s", name, same)
	}
	if cmdenv.NearestCommand(root, name) == "" {
		harmless := slices.DeleteFunc(slices.Sorted(maps.Keys(otherWords)), func(word string) bool {
			line := otherWords[word] // a wrong guess of these would do damage
			return strings.HasPrefix(line, "gc destroy") || strings.HasPrefix(line, "gc stop")
		})
		if word := textfmt.Nearest(name, harmless); word != "" {
			return cmdenv.Usage(root, "gc has no command %q; did you mean: %s", name, otherWords[word])
		}
	}
	return cmdenv.UnknownCommand(root, name)
}

// helpCommand returns the command that prints the help of a command. Unlike cobra's own, it fails for
// a word that is no command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND | all]",
		Short:   "Show help",
		Long:    `Shows the help of a command. Without one it lists the commands for every day; "gc help all" lists all.`,
		Example: "  gc help send\n  gc help all",
		Args:    cmdenv.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "all" {
				return cmd.Root().Help()
			}
			if len(args) == 0 {
				fmt.Fprint(cmd.OutOrStdout(), dailyHelp(cmd.Root()))
				return nil
			}
			found, rest, err := cmd.Root().Find(args)
			switch {
			case found == cmd.Root() && len(rest) > 0:
				return unknownCommand(found, rest[0])
			case err != nil:
				return err
			case len(rest) > 0 && found.HasSubCommands():
				return cmdenv.UnknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
