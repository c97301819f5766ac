package cli

import (
	"time"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/runtime"
)

// outpostCommand returns the hidden commands that drivers run on another host or in a pod.
func outpostCommand(a *app) *cobra.Command {
	cmd := cmdenv.Group("outpost", "Serve a remote runtime provider", `Drivers run these commands on another host or in a pod; people do not.`,
		outpostServeCommand(a), outpostAttachCommand(a), outpostHoldCommand(a))
	cmd.Hidden = true
	return cmd
}

func outpostServeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "serve FOLDER PROVIDER",
		Short: "Serve a provider on standard input and output",
		Args:  cmdenv.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.daemon.ServeOutpost(cmd.Context(), args[0], args[1])
		},
	}
}

func outpostAttachCommand(a *app) *cobra.Command {
	var opts runtime.AttachOptions
	cmd := &cobra.Command{
		Use:   "attach FOLDER PROVIDER SESSION",
		Short: "Connect this terminal to a session of an outpost",
		Args:  cmdenv.Between(3, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.daemon.AttachOutpost(cmd.Context(), args[0], args[1], args[2], opts)
		},
	}
	cmd.Flags().BoolVar(&opts.ReadOnly, "read-only", false, "only watch: send no keys and do not resize")
	cmd.Flags().StringArrayVar(&opts.DetachKeys, "detach-keys", nil, "`keys` that detach instead, by tmux name; may be given several times")
	return cmd
}

func outpostHoldCommand(a *app) *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "hold FOLDER PROVIDER",
		Short: "Run as the first process of a pod; stop its sessions on exit",
		Args:  cmdenv.Between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.daemon.RunOutpostInit(cmd.Context(), args[0], args[1], grace)
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", 0, "how long the agents have to exit")
	return cmd
}
