package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
)

func controllerCommand(a *app) *cobra.Command {
	return cmdenv.Group("controller", "Run, stop or inspect the controller", `The controller is a background process that reconciles running agents with city.toml. Agents keep
running if it stops.`,
		controllerRunCommand(a), controllerStopCommand(a), controllerStatusCommand(a))
}

func controllerRunCommand(a *app) *cobra.Command {
	var lease string
	var retry bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the controller in the foreground",
		Long: `For service managers: it logs to standard error and runs until it is stopped. On SIGTERM or SIGINT it
exits and leaves the agents running; the next controller takes them over. With --lease several may run:
one is active, the others wait. It exits with status 1 when it loses the lease.`,
		Args: cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := a.Root()
			if err != nil {
				return err
			}
			return a.runController(cmd.Context(), root, lease, retry)
		},
	}
	cmd.Flags().StringVar(&lease, "lease", "", "work only while holding the Lease of this name in the cluster of [session.k8s]")
	cmd.Flags().BoolVar(&retry, "retry", false, "start failed and quarantined agents at once, as gc start does")
	return cmd
}

func (a *app) runController(ctx context.Context, root, lease string, retry bool) error {
	daemon, err := a.daemon()
	if err != nil {
		return err
	}
	return daemon.RunController(ctx, root, ControllerOptions{Version: a.Version, Lease: lease, Retry: retry, Ready: func() {
		if a.IsTerminal(a.Stderr) {
			a.Messagef("the controller runs; Ctrl-C ends it and leaves the agents running, gc stop ends them too")
		}
	}})
}

func controllerStopCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "stop",
		Short: "Stop the controller; agents keep running",
		Args:  cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			defer c.Close()
			before, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			ended := a.endOf(before.Controller)
			if _, err := c.StopController(cmd.Context()); err != nil {
				return err
			}
			if err := a.awaitGone(cmd.Context(), c, before.Controller, ended); err != nil {
				return err
			}
			return a.PrintResult(client.Done{Changed: true}, "the controller has stopped; agents keep running, and gc start manages them again")
		},
	})
}

func controllerStatusCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "status",
		Short: "Show whether the controller is running",
		Args:  cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			defer c.Close()
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(status.Controller)
			}
			fmt.Fprintln(a.Stdout, a.Formatter().Controller(status.Controller))
			return nil
		},
	})
}

// hostCommand is for a driver: the process between a session's shim and an agent that
// speaks the Agent Client Protocol.
func hostCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                "acp-host",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			if status := daemon.HostACP(cmd.Context(), args); status != cmdenv.Done {
				return cmdenv.SilentExit(status)
			}
			return nil
		},
	}
}

// shimCommand is for drivers: the process that hosts one session.
func shimCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                "shim",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			if status := daemon.Shim(cmd.Context(), args); status != cmdenv.Done {
				return cmdenv.SilentExit(status)
			}
			return nil
		},
	}
}
