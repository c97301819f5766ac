package cli

import (
	"cmp"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/textfmt"
)

func agentCLICommand(a *app) *cobra.Command {
	return cmdenv.Group("agent-cli", "List supported agent CLIs", `An agent CLI is the program of an agent: the value of provider in [[agents]]. What agents run in is a
runtime provider: gc provider list shows those.`,
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
		Args:    cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			rows, err := daemon.AgentCLIs(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(cmdenv.Rows("agent_clis", rows))
			}
			w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tCOMMAND\tVERSION\tTESTED\tSTATE\tASKING MODE")
			for _, r := range rows {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Command, cmp.Or(textfmt.OneLine(r.Version), "-"), cmp.Or(r.Tested, "-"), r.State, cmp.Or(r.Mode, "-"))
			}
			return w.Flush()
		},
	})
}
