package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

func sessionCommand(a *app) *cobra.Command {
	return cmdenv.Group("session", "Manage sessions: list, show, wake, sleep, reset and more",
		`A session is the place on a runtime provider in which an agent runs, such as a terminal or a pod. Every
command that accepts the name of an agent also accepts the name of its session.`,
		append([]*cobra.Command{sessionListCommand(a), sessionShowCommand(a), killCommand(a), requestRestartCommand(a)}, lifecycleCommands(a)...)...)
}

func sessionListCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "list",
		Short: "List sessions with runtime provider and instance",
		Long: `Lists each session with its agent, its runtime provider, its state, its process and the id of its
instance. For what the agents do: gc status`,
		Example: "  gc session list",
		RunE: cmdenv.List[client.Agent]{
			Ask: func(c *client.Client, ctx context.Context, _ string, _ client.Which) ([]client.Agent, error) {
				status, err := c.Status(ctx)
				return status.Agents, err
			},
			Format: render.Formatter.Sessions, Empty: "no sessions", Name: "sessions",
		}.Run(&a.Base, &cmdenv.Flags{}),
	})
}

func sessionShowCommand(a *app) *cobra.Command {
	var verbose bool
	cmd := &cobra.Command{
		Use:     "show AGENT",
		Short:   "Show the details of a session",
		Long:    "Shows the state of a session, its processes and its last screen. For the reasons: gc explain AGENT",
		Example: "  gc session show coder",
		Args:    cmdenv.Between(1, 1),
		RunE: a.TargetAction(func(ctx context.Context, c *client.Client, name string) error {
			s, err := c.Session(ctx, name)
			if err := a.Show(s, err, func(sheet render.Formatter) string { sheet.Verbose = verbose; return sheet.Session(s) }); err != nil || a.JSON || s.LastScreen == "" {
				return err
			}
			fmt.Fprintln(a.Stdout, a.Paint(textfmt.Faint, "\nLAST SCREEN"))
			a.PrintScreen(s.LastScreen, 0)
			return nil
		}),
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also show metadata and fingerprints")
	return a.AddJSONFlag(cmd)
}

// killCommand returns the command for "gc kill" and "gc session kill".
func killCommand(a *app) *cobra.Command {
	var req client.LifecycleRequest
	cmd := &cobra.Command{
		Use:   "kill AGENT...",
		Short: "Kill an agent's processes; gc starts it again",
		Long: `Kills every process of the agent at once; use it if the agent does not react. The controller then
starts the agent again, unless it is stopped or asleep. To keep an agent stopped: gc stop AGENT. While
the city's database cannot be written, the controller cannot start the agent again; then gc kill needs
--force.`,
		Example: "  gc kill coder",
		Args:    cmdenv.Between(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && !cmdenv.IsPattern(args[0]) {
				return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
					return a.kill(cmd.Context(), c, args[0], req)
				})
			}
			if req.Instance != "" {
				return cmdenv.Usage(cmd, "--instance needs exactly one agent")
			}
			return a.killEach(cmd.Context(), args, req)
		},
		ValidArgsFunction: a.CompleteAgents,
	}
	cmdenv.InstanceFlag(cmd, &req.Instance)
	cmd.Flags().BoolVar(&req.Force, "force", false, "kill it even if the database cannot be written; gc starts the agent again when it can be written")
	return a.AddJSONFlag(cmd)
}

// kill kills all processes of one agent and prints how many there were. It first warns if the controller cannot start
// the agent again.
func (a *app) kill(ctx context.Context, c *client.Client, name string, req client.LifecycleRequest) error {
	waiting := waitingPrompts(ctx, c, name)
	result, err := c.Kill(ctx, name, req)
	if err != nil {
		return err
	}
	defer a.reportDead(ctx, c, waiting)
	if err := a.PrintIfJSON(result); err != nil {
		return err
	}
	if err := a.printKill(name, result); err != nil || !req.Force {
		return err
	}
	return a.warnOfKill(ctx, c, name)
}

// killEach kills several agents at the same time and prints the result of each.
func (a *app) killEach(ctx context.Context, names []string, req client.LifecycleRequest) error {
	err := onEach(ctx, a, names, "sessions", func(c *client.Client, agent client.Agent) (*client.StopResult, error) {
		waiting := waitingPrompts(ctx, c, agent.Name)
		result, err := c.Kill(ctx, agent.Name, req)
		if err != nil {
			return nil, err
		}
		defer a.reportDead(ctx, c, waiting)
		return &result, a.printKill(agent.Name, result)
	})
	if err != nil || !req.Force || a.JSON {
		return err
	}
	return a.OnCity(func(c *client.Client) error { return a.warnOfKill(ctx, c, textfmt.List(names)) })
}

// warnOfKill prints a warning if the controller cannot start the killed agents again for now.
func (a *app) warnOfKill(ctx context.Context, c *client.Client, name string) error {
	status, err := c.Status(ctx)
	if err == nil && status.Controller.Degraded != "" {
		a.Messagef("gc: the controller cannot start %s again at the moment: %s", name, textfmt.OneLine(status.Controller.Degraded))
	}
	return err
}

// printKill prints the result of a kill for people. If processes survived, the exit status is [cmdenv.Failed].
func (a *app) printKill(name string, r client.StopResult) error {
	if why := render.NotEnded(r); why != "" {
		a.Messagef("gc: %s was not killed: %s", name, why)
		return cmdenv.SilentExit(cmdenv.Failed)
	}
	if r.Uncounted {
		a.Messagef("killed %s in %.1fs; its processes were not counted: the runtime provider does not report them", name, r.Seconds)
		return nil
	}
	a.Messagef("killed %s: %s in %.1fs", name, textfmt.Count(r.Processes, "process"), r.Seconds)
	return nil
}
