package cli

import (
	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

// providerServeCommand is for session scripts, not for people: its exit status is
// that of the wire.
func providerServeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "serve PROVIDER OPERATION [SESSION [ARGUMENT]...]",
		Short:  "Run a runtime provider as a session script",
		Hidden: true,
		Long: `The other end of the provider exec: a script that runs this with its own arguments is that provider.
Sessions are kept in the folder GC_EXEC_STATE_DIR, or in the city.`,
		Args: cmdenv.Between(2, maxScriptArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			root, err := a.Root()
			if err != nil {
				root = "" // the state folder may do
			}
			if status := daemon.ServeProvider(cmd.Context(), root, args[0], args[1:]); status != cmdenv.Done {
				return cmdenv.SilentExit(status)
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // keys of a session may begin with a dash
	return cmd
}

// maxScriptArgs is more than a script ever gets.
const maxScriptArgs = 1 << 10
