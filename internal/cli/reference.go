package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gascity/internal/cli/cmdenv"
)

// docsCommand returns the hidden commands that generate documentation from the commands.
func docsCommand(a *app) *cobra.Command {
	markdown := &cobra.Command{
		Use: "markdown", Short: "Print the reference of all commands", Args: cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(a.Stdout, referenceOf(cmd.Root()))
			return err
		},
	}
	man := &cobra.Command{
		Use: "man DIR", Short: "Write a manual page for each command", Args: cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeManual(cmd.Root(), a.Path(args[0]), a.Version)
		},
	}
	docs := cmdenv.Group("docs", "Generate documentation: markdown, man", "", markdown, man)
	docs.Hidden = true
	return docs
}

// visibleCommands returns the visible commands below cmd, without groups, in the order
// of the help.
func visibleCommands(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if !cmdenv.IsGroup(sub) {
			all = append(all, sub)
		}
		all = append(all, visibleCommands(sub)...)
	}
	return all
}

// referenceOf returns the content of docs/reference/cli.md.
func referenceOf(root *cobra.Command) string {
	var out strings.Builder
	out.WriteString("# Commands\n\nGenerated from the commands by `make gen`; do not edit.\n\n")
	fmt.Fprintf(&out, "%s\n\nEvery command accepts `--city DIRECTORY`. Data goes to standard output, messages to standard error.\n", root.Long)
	out.WriteString("With `--json` the data and errors are JSON objects: see [JSON output](json.md).\n\n")
	for _, group := range root.Groups() {
		fmt.Fprintf(&out, "## %s\n\n", strings.TrimSuffix(group.Title, ":"))
		for _, sub := range root.Commands() {
			if sub.GroupID != group.ID {
				continue
			}
			if cmdenv.IsGroup(sub) {
				fmt.Fprintf(&out, "%s\n\n", sub.Long)
			} else {
				section(&out, sub)
			}
			for _, cmd := range visibleCommands(sub) {
				section(&out, cmd)
			}
		}
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// section writes the section of one command.
func section(out *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(out, "### %s\n\n%s.\n\n    %s\n\n", cmd.CommandPath(), cmd.Short, cmd.UseLine())
	if cmd.Long != "" {
		fmt.Fprintf(out, "%s\n\n", cmd.Long)
	}
	rows := flagRows(cmd)
	if len(rows) > 0 {
		out.WriteString("| flag | |\n|---|---|\n")
		for _, row := range rows {
			fmt.Fprintf(out, "| `%s` | %s |\n", row[0], strings.ReplaceAll(row[1], "|", `\|`))
		}
		out.WriteByte('\n')
	}
	if cmd.Example != "" {
		fmt.Fprintf(out, "```sh\n%s\n```\n\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	}
}

// flagRows returns the name and the description of each flag of a command.
func flagRows(cmd *cobra.Command) [][2]string {
	var rows [][2]string
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, meaning := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + strings.ToUpper(kind)
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			meaning += " (default " + f.DefValue + ")"
		}
		rows = append(rows, [2]string{name, meaning})
	})
	return rows
}

// writeManual writes manual pages into dir: gc.1 and one page for each command.
func writeManual(root *cobra.Command, dir, version string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("cannot create the directory for manual pages: %w", err)
	}
	for _, cmd := range append([]*cobra.Command{root}, visibleCommands(root)...) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manualPage(cmd, name, version)), fileMode); err != nil {
			return fmt.Errorf("cannot write a manual page: %w", err)
		}
	}
	return nil
}

// manualPage returns the manual page of one command, in roff with man macros.
func manualPage(cmd *cobra.Command, name, version string) string {
	var out strings.Builder
	fmt.Fprintf(&out, ".TH %s 1 \"\" \"gc %s\" \"Gas City\"\n", strings.ToUpper(roff(name)), roff(version))
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n", roff(name), roff(cmd.Short), roff(cmd.UseLine()))
	fmt.Fprintf(&out, ".SH DESCRIPTION\n%s\n", roff(cmp.Or(cmd.Long, cmd.Short)))
	if rows := flagRows(cmd); len(rows) > 0 {
		out.WriteString(".SH OPTIONS\n")
		for _, row := range rows {
			fmt.Fprintf(&out, ".TP\n%s\n%s\n", roff(row[0]), roff(row[1]))
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(&out, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if subs := visibleCommands(cmd); len(subs) > 0 {
		var pages []string
		for _, sub := range subs {
			pages = append(pages, ".BR "+roff(strings.ReplaceAll(sub.CommandPath(), " ", "-"))+" (1)")
		}
		fmt.Fprintf(&out, ".SH SEE ALSO\n%s\n", strings.Join(pages, ",\n"))
	}
	return out.String()
}

// roff escapes text for roff: backslashes, hyphens, and a dot or an apostrophe at
// the beginning of a line. An empty line becomes a new paragraph.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
		if line == "" {
			lines[i] = ".PP"
		}
	}
	return strings.Join(lines, "\n")
}
