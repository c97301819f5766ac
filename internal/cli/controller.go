package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/retry"
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
		Long: `For service managers such as systemd; people use gc start. The controller logs to standard error. On
SIGTERM or SIGINT it exits and leaves the agents running; the next controller takes them over. If the
city has a controller already, the exit status is 4.
With --lease several controllers may run: one is active, the others wait. A controller that loses the
lease exits with status 1.`,
		Example: "  gc controller run --city ~/city",
		RunE: a.RootAction(func(ctx context.Context, root string, _ []string) error {
			return a.runController(ctx, root, lease, retry)
		}),
	}
	cmd.Flags().StringVar(&lease, "lease", "", "be active only while holding the Kubernetes Lease with this `name`, in the cluster of [session.k8s]")
	cmd.Flags().BoolVar(&retry, "retry", false, "start failed and quarantined agents at once, as gc start does")
	return cmd
}

// runController runs the controller in this process until ctx ends or it is asked to exit.
func (a *app) runController(ctx context.Context, root, lease string, retry bool) error {
	return a.daemon.RunController(ctx, root, ControllerOptions{Version: a.Version, Lease: lease, Retry: retry, Ready: func() {
		if a.IsTerminal(a.Stderr) {
			a.Messagef("the controller is running; Ctrl-C stops it and leaves the agents running; gc stop stops the agents too")
		}
	}})
}

func controllerStopCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "stop",
		Short: "Stop the controller; agents keep running",
		Long: `Stops the controller and waits until its process has exited. The agents keep running, but nothing
restarts them or delivers prompts until a controller runs again: gc start. Use it to update gc. To stop
the agents too: gc stop. If no controller runs, the exit status is 6.`,
		Example: "  gc controller stop && gc start",
		RunE: a.CityAction(func(ctx context.Context, c *client.Client, _ []string) error {
			before, err := c.Status(ctx)
			if err != nil {
				return err
			}
			ended := a.endOf(before.Controller)
			if _, err := c.StopController(ctx); err != nil {
				return err
			}
			if err := a.awaitGone(ctx, c, before.Controller, ended); err != nil {
				return err
			}
			return a.PrintResult(client.Done{Changed: true}, nil, "the controller has stopped; agents keep running, and gc start manages them again")
		}),
	})
}

func controllerStatusCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "status",
		Short: "Show whether the controller is running",
		Long: `Prints the controller's version, its process and when it was started. If no controller runs, the exit
status is 6.`,
		Example: "  gc controller status",
		RunE: a.CityAction(func(ctx context.Context, c *client.Client, _ []string) error {
			status, err := c.Status(ctx)
			return a.Show(status.Controller, err, func(s render.Formatter) string { return s.Controller(status.Controller) + "\n" })
		}),
	})
}

// hiddenCommand returns a command that drivers start, without flags of its own: run gets all arguments. "shim" is the process that owns
// one session. "acp-host" is the process between a shim and an agent that speaks the Agent Client Protocol.
func hiddenCommand(a *app, use string, run func(d Daemon, ctx context.Context, args []string) int) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return cmdenv.SilentExit(run(a.daemon, cmd.Context(), args))
		},
	}
}

// exitTimeout is how long a controller may take to exit after it has finished its work.
const exitTimeout = 10 * time.Second

// endOf returns a function that reports whether the process of a controller has exited.
// Call endOf while that controller still answers, because another process may get its
// pid later. If the process cannot be found, the function returns true.
func (a *app) endOf(c client.Controller) func() bool {
	if ended, err := a.daemon.Process(c.PID); err == nil {
		return ended
	}
	return func() bool { return true }
}

// awaitGone waits until the controller no longer answers and its process has exited, so
// that its lock is free. It also returns if another controller answers by then. After
// [exitTimeout] the error matches [client.ErrTimeout].
func (a *app) awaitGone(parent context.Context, c *client.Client, was client.Controller, ended func() bool) error {
	ctx, cancel := context.WithTimeout(parent, exitTimeout)
	defer cancel()
	for delay := retry.New(probePause, probePauseMax); ; {
		status, err := c.Status(ctx)
		silent := errors.Is(err, client.ErrNoController) || err == nil && status.Controller.PID != was.PID
		if silent && ended() {
			return nil
		}
		if !delay.Wait(ctx) {
			state := "it still answers"
			if silent {
				state = fmt.Sprintf("its process %d still runs", was.PID)
			}
			return fmt.Errorf("%w: gc has asked the controller to stop, but %s; see .gc/log/controller.log", client.ErrTimeout, state)
		}
	}
}
