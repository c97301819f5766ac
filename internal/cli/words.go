package cli

import (
	"github.com/spf13/cobra"

	"gascity/internal/cli/desk"
)

// otherWords maps command words of other tools to the gc command that does the same.
var otherWords = map[string]string{
	"agents": "gc status", "ls": "gc status", "list": "gc status", "ps": "gc status",
	"top": "gc status -w", "watch": "gc status -w",
	"send": "gc nudge AGENT TEXT", "prompt": "gc nudge AGENT TEXT", "tell": "gc nudge AGENT TEXT",
	"run": "gc start", "up": "gc start", "down": "gc stop",
	"new": "gc init", "create": "gc init",
	"kill": "gc session kill AGENT", "suspend": "gc session suspend AGENT",
	"tail": "gc logs AGENT -f", "log": "gc logs AGENT", "show": "gc session show AGENT",
	"answer": "gc respond ID ANSWER", "questions": "gc pending", "validate": "gc config check",
}

// unknownCommand is the error for a word that is no command of gc.
func unknownCommand(root *cobra.Command, name string) error {
	if same, ok := otherWords[name]; ok {
		return desk.Usage(root, "gc has no command %q; use: %s", name, same)
	}
	return desk.UnknownCommand(root, name)
}

// helpCommand prints the help of a command. Unlike cobra's own it fails for a word that is
// no command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		Args:  desk.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			switch {
			case found == cmd.Root() && len(rest) > 0:
				return unknownCommand(found, rest[0])
			case err != nil:
				return err
			case len(rest) > 0 && found.HasSubCommands():
				return desk.UnknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
