package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

func configCommand(a *app) *cobra.Command {
	return cmdenv.Group("config", "Check and show the configuration", `These commands read city.toml from disk; no controller is needed.`,
		configCheckCommand(a), configShowCommand(a), configSchemaCommand(a))
}

func configCheckCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "check",
		Short: "Check city.toml for mistakes",
		Long: `Shows each mistake with its position and the fix, and warns of keys that have no effect. Exit status 1
if there is a mistake; a warning does not count.`,
		Example: "  gc config check\n  gc config check --json",
		RunE: a.RootAction(func(ctx context.Context, root string, _ []string) error {
			faults, err := a.daemon.CheckConfig(ctx, root)
			if err != nil {
				return err
			}
			switch {
			case a.JSON:
				if err := a.PrintJSON(cmdenv.Rows("mistakes", faults)); err != nil {
					return err
				}
			case len(faults) == 0:
				a.Messagef("%s has no mistakes", filepath.Join(root, client.CityFile))
			default:
				a.printFaults(faults)
			}
			return failIf(mistakes(faults) > 0)
		}),
	})
}

// mistakes returns the number of faults that are not warnings.
func mistakes(faults []client.ConfigFault) int {
	count := 0
	for _, f := range faults {
		if !f.Warning {
			count++
		}
	}
	return count
}

// faultIndent is the indentation, in columns, of the lines below a mistake.
const faultIndent = 4

// maxFaults is the largest number of mistakes that are printed for people.
const maxFaults = 50

// printFaults prints mistakes as FILE:LINE:COLUMN: MESSAGE, which editors recognize, and their number.
func (a *app) printFaults(faults []client.ConfigFault) {
	for i, f := range faults {
		if i == maxFaults {
			a.Messagef("... and %d more; gc config check --json lists all", len(faults)-i)
			break
		}
		position := f.File
		if f.Line > 0 {
			position = fmt.Sprintf("%s:%d:%d", f.File, f.Line, max(f.Column, 1))
		}
		message := f.Message
		if f.Warning {
			message = "warning: " + message
		}
		a.Messagef("%s: %s", a.PaintMessage(textfmt.Bold, position), message)
		for _, below := range textfmt.NonEmpty(f.Excerpt, f.Hint) {
			a.Messagef("%s", textfmt.Indent(below, faultIndent))
		}
	}
	wrong := mistakes(faults)
	switch warnings := len(faults) - wrong; {
	case warnings == 0:
		a.Messagef("%s", textfmt.Count(wrong, "mistake"))
	case wrong == 0:
		a.Messagef("no mistakes, %s", textfmt.Count(warnings, "warning"))
	default:
		a.Messagef("%s, %s", textfmt.Count(wrong, "mistake"), textfmt.Count(warnings, "warning"))
	}
}

func configShowCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "show",
		Short: "Show the effective configuration and its sources",
		Long: `Shows every key with its value and the file, or the default, from which the value comes. Credentials
are shown as asterisks. If city.toml has a mistake, the mistake is printed and the exit status is 1.`,
		Example: "  gc config show",
		RunE: a.RootAction(func(ctx context.Context, root string, _ []string) error {
			config, err := a.daemon.ShowConfig(ctx, root)
			return a.Show(config, err, func(s render.Formatter) string { return s.Config(config) })
		}),
	})
}

func configSchemaCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{ // the output is JSON with and without --json
		Use:     "schema",
		Short:   "Print the JSON Schema of city.toml",
		Long:    `Prints the JSON Schema of city.toml. Editors use it to complete and check keys.`,
		Example: "  gc config schema > city.schema.json",
		RunE: func(_ *cobra.Command, _ []string) error {
			schema, err := a.daemon.ConfigSchema()
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, strings.TrimSpace(string(schema)))
			return nil
		},
	})
}
