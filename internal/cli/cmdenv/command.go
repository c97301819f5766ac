package cmdenv

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gascity/internal/textfmt"
)

// groupAnnotation marks a command that has subcommands and does nothing itself.
const groupAnnotation = "holds"

// IsGroup reports whether the command was made by [Group].
func IsGroup(cmd *cobra.Command) bool { return cmd.Annotations[groupAnnotation] != "" }

// Group returns a command that has subcommands and does nothing itself.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs, Annotations: map[string]string{groupAnnotation: "others"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return UnknownCommand(cmd, args[0])
			}
			return Usage(cmd, "%s needs a command: %s", cmd.CommandPath(), textfmt.List(commandNames(cmd)))
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// commandNames returns the names of the visible subcommands.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// destructive lists the commands that stop agents or remove something. They are suggested only
// for a word with the same first letter, so that a wrong guess does no damage.
var destructive = []string{"stop", "destroy", "uninstall", "kill", "reset", "restart"}

// UnknownCommand returns the usage error for a word that is no subcommand of cmd, with the
// nearest names.
func UnknownCommand(cmd *cobra.Command, name string) error {
	return Usage(cmd, "%s has no command %q%s", cmd.CommandPath(), name, DidYouMean(name, suggestions(cmd, name)))
}

// NearestCommand returns the subcommand of cmd that is most similar to a word; empty if none is.
func NearestCommand(cmd *cobra.Command, name string) string {
	return textfmt.Nearest(name, suggestions(cmd, name))
}

// suggestions returns the subcommands of cmd that may be suggested for a word.
func suggestions(cmd *cobra.Command, name string) []string {
	return slices.DeleteFunc(commandNames(cmd), func(known string) bool {
		return slices.Contains(destructive, known) && known[:1] != name[:min(1, len(name))]
	})
}

// FlagError returns the usage error for a flag that is unknown or has a wrong value, with the
// nearest flag or an example of a value.
func FlagError(cmd *cobra.Command, err error) error {
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return Usage(cmd, "--%s cannot be %q; it is %s", value.GetFlag().Name, value.GetValue(), describeType(value.GetFlag().Value.Type()))
	}
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return Usage(cmd, "%v, in: %s", err, cmd.CommandPath())
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	name := missing.GetSpecifiedName()
	hint := ""
	if strings.Contains(cmd.Use, "TEXT") {
		hint = fmt.Sprintf("; to send a text that begins with a dash: %s AGENT -- '-x'; or pass - and write the text to standard input", cmd.CommandPath())
	}
	if len(name) == 1 {
		return Usage(cmd, "%s has no flag -%s%s", cmd.CommandPath(), name, hint)
	}
	return Usage(cmd, "%s has no flag --%s%s%s", cmd.CommandPath(), name, DidYouMean("--"+name, known), hint)
}

// describeType describes the values of a flag type, with an example.
func describeType(kind string) string {
	switch kind {
	case "duration":
		return "a duration such as 5s, 10m or 2h"
	case "int", "uint", "int64", "uint64":
		return "a whole number"
	case "bool":
		return "true or false"
	}
	return "a value of the type " + kind
}

// Between returns a check that a command has at least minArgs and at most maxArgs arguments. If
// maxArgs is negative, there is no upper limit.
func Between(minArgs, maxArgs int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < minArgs:
			return Usage(cmd, "too few arguments, want: %s", cmd.UseLine())
		case maxArgs >= 0 && len(args) > maxArgs:
			return Usage(cmd, "too many arguments after %q, want: %s", args[max(maxArgs, 1)-1], cmd.UseLine())
		}
		return nil
	}
}

// OneOf returns a usage error unless the value of a flag is empty or one of words.
func OneOf(cmd *cobra.Command, flag, word string, words ...string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	return Usage(cmd, "%s cannot be %q; it is one of: %s", flag, word, textfmt.List(words))
}
