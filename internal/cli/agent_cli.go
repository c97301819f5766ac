package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"gascity/internal/agentcli"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

func agentCLICommand(a *app) *cobra.Command {
	return cmdenv.Group("agent-cli", "List supported agent CLIs", `An agent CLI is the program of an agent: the value of provider in [[agents]]. To list runtime providers,
the backends in which agents run: gc provider list`,
		agentCLIListCommand(a))
}

func agentCLIListCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "list",
		Short: "List supported agent CLIs, and which are installed",
		Long: `Shows for each agent CLI the installed version, the versions that gc was tested with, and the
permission mode in which it asks a person. STATE is "found", "untested" (gc was not tested with the
installed version) or "not installed". gc looks in PATH, then in the PATH of the login shell.`,
		Example: "  gc agent-cli list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := a.daemon.AgentCLIs(cmd.Context())
			if err != nil {
				return err
			}
			t := &textfmt.Table{Heads: []string{"NAME", "COMMAND", "VERSION", "TESTED", "STATE", "ASKING MODE"}}
			for _, r := range rows {
				t.Add(textfmt.Painted(r.Name, textfmt.Bold), textfmt.Cell{Text: r.Command}, textfmt.Cell{Text: textfmt.OneLine(r.Version)},
					textfmt.Cell{Text: r.Tested}, textfmt.Painted(r.State, cmp.Or(cliColors[r.State], textfmt.Faint)), textfmt.Cell{Text: r.Mode})
			}
			return a.Show(cmdenv.Rows("agent_clis", rows), nil, func(s render.Formatter) string { return s.Table(t) })
		},
	})
}

// cliColors maps states of an [agentcli.InstalledCLI] to colors. The others are faint.
var cliColors = map[string]textfmt.Color{agentcli.CLIFound: textfmt.Green, agentcli.CLIUntested: textfmt.Yellow}
