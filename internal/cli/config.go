package cli

import (
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
		Args: cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, root, err := a.daemonAndRoot()
			if err != nil {
				return err
			}
			faults, err := daemon.CheckConfig(cmd.Context(), root)
			if err != nil {
				return err
			}
			switch {
			case a.JSON:
				if err := a.PrintJSON(cmdenv.Rows("mistakes", faults)); err != nil {
					return err
				}
			case len(faults) == 0:
				a.Messagef("%s is fine", filepath.Join(root, client.CityFile))
			default:
				a.printFaults(faults)
			}
			if mistakes(faults) > 0 {
				return cmdenv.SilentExit(cmdenv.Failed)
			}
			return nil
		},
	})
}

// mistakes counts the faults that are no warnings.
func mistakes(faults []ConfigFault) int {
	count := 0
	for _, f := range faults {
		if !f.Warning {
			count++
		}
	}
	return count
}

func (a *app) daemonAndRoot() (Daemon, string, error) {
	daemon, err := a.daemon()
	if err != nil {
		return nil, "", err
	}
	root, err := a.Root()
	return daemon, root, err
}

// faultIndent is how far the lines below a mistake are moved.
const faultIndent = 4

// maxFaults is how many mistakes are printed.
const maxFaults = 50

// printFaults prints mistakes the way compilers do, so that editors find them.
func (a *app) printFaults(faults []ConfigFault) {
	for i, f := range faults {
		if i == maxFaults {
			a.Messagef("... and %d more; gc config check --json lists all", len(faults)-i)
			break
		}
		place := f.File
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", f.File, f.Line, max(f.Column, 1))
		}
		message := f.Message
		if f.Warning {
			message = "warning: " + message
		}
		a.Messagef("%s: %s", a.PaintMessage(textfmt.Bold, place), message)
		if f.Excerpt != "" {
			a.Messagef("%s", textfmt.Indent(f.Excerpt, faultIndent))
		}
		if f.Hint != "" {
			a.Messagef("%s", textfmt.Indent(f.Hint, faultIndent))
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
		Long:  `Credentials are shown as asterisks.`,
		Args:  cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, root, err := a.daemonAndRoot()
			if err != nil {
				return err
			}
			config, err := daemon.ShowConfig(cmd.Context(), root)
			if err != nil {
				return err
			}
			return a.Show(config, func(s render.Formatter) string { return s.Config(config) })
		},
	})
}

func configSchemaCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{ // it prints JSON always
		Use:     "schema",
		Short:   "Print the JSON Schema of city.toml",
		Example: "  gc config schema > city.schema.json",
		Args:    cmdenv.Between(0, 0),
		RunE: func(_ *cobra.Command, _ []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			schema, err := daemon.ConfigSchema()
			if err != nil {
				return err
			}
			fmt.Fprintln(a.Stdout, strings.TrimSpace(string(schema)))
			return nil
		},
	})
}
