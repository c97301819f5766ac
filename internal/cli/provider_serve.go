package cli

import (
	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

// providerServeCommand returns a hidden command for session scripts, not for people: its
// exit status is that of the session script protocol.
func providerServeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "serve PROVIDER OPERATION [SESSION [ARGUMENT]...]",
		Short:  "Run a runtime provider as a session script",
		Hidden: true,
		Long: `Serves a runtime provider to the runtime provider exec. A session script that runs this command with the
script's own arguments behaves as that runtime provider. The state of the sessions is in the directory
GC_EXEC_STATE_DIR, or in the city.`,
		Args: cmdenv.Between(2, maxScriptArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := a.Root()
			if err != nil {
				root = "" // GC_EXEC_STATE_DIR may be set
			}
			return cmdenv.SilentExit(a.daemon.ServeProvider(cmd.Context(), root, args[0], args[1:]))
		},
	}
	cmd.Flags().SetInterspersed(false) // arguments of an operation may begin with a dash
	return cmd
}

// maxScriptArgs is the largest number of arguments; no real call has as many.
const maxScriptArgs = 1 << 10
