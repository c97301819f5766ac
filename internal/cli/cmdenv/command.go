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

// groupAnnotation marks a command that only holds others.
const groupAnnotation = "holds"

// IsGroup reports whether the command was made by [Group].
func IsGroup(cmd *cobra.Command) bool { return cmd.Annotations[groupAnnotation] != "" }

// Group makes a command that only holds others.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs, Annotations: map[string]string{groupAnnotation: "others"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return UnknownCommand(cmd, args[0])
			}
			return Usage(cmd, "%s wants a command: %s", cmd.CommandPath(), textfmt.List(commandNames(cmd)))
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// destructive are the commands that stop agents or remove something. One is proposed only
// for a word with the same first letter, which was probably meant.
var destructive = []string{"stop", "uninstall", "kill", "reset", "restart"}

// UnknownCommand is the error of a word that is no command below cmd.
func UnknownCommand(cmd *cobra.Command, name string) error {
	names := slices.DeleteFunc(commandNames(cmd), func(known string) bool {
		return slices.Contains(destructive, known) && known[:1] != name[:min(1, len(name))]
	})
	return Usage(cmd, "%s has no command %q%s", cmd.CommandPath(), name, DidYouMean(name, names))
}

// FlagError says which flag is wrong, and which one or what value may be meant.
func FlagError(cmd *cobra.Command, err error) error {
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return Usage(cmd, "--%s cannot be %q; it is %s", value.GetFlag().Name, value.GetValue(), valueWords(value.GetFlag().Value.Type()))
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
		hint = fmt.Sprintf("; a text that begins with a dash goes behind --, as in: %s AGENT -- '-x'; or through standard input, with -", cmd.CommandPath())
	}
	if len(name) == 1 {
		return Usage(cmd, "%s has no flag -%s%s", cmd.CommandPath(), name, hint)
	}
	return Usage(cmd, "%s has no flag --%s%s%s", cmd.CommandPath(), name, DidYouMean("--"+name, known), hint)
}

// valueWords returns what a flag of a type takes.
func valueWords(kind string) string {
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

// Between demands a number of arguments; below zero is any number.
func Between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usage(cmd, "too few arguments, want: %s", cmd.UseLine())
		case most >= 0 && len(args) > most:
			return Usage(cmd, "too many arguments after %q, want: %s", args[max(most, 1)-1], cmd.UseLine())
		}
		return nil
	}
}

// OneOf demands that a word is one of those given; empty is allowed.
func OneOf(cmd *cobra.Command, flag, word string, words ...string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	return Usage(cmd, "%s cannot be %q; it is one of: %s", flag, word, textfmt.List(words))
}
