package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
)

// currentAgent returns the agent in whose session this program runs, and the public id of its instance.
// Outside of a session it returns a usage error.
func (a *app) currentAgent(cmd *cobra.Command) (name, instance string, err error) {
	name, token := a.Getenv("GC_AGENT"), a.Getenv("GC_INSTANCE_TOKEN")
	if name == "" || token == "" {
		return "", "", cmdenv.Usage(cmd, "%s only works inside the session of an agent: GC_AGENT and GC_INSTANCE_TOKEN are not set", cmd.CommandPath())
	}
	return name, session.PublicInstance(token), nil
}

func drainCommand(a *app) *cobra.Command {
	cmd := drainSessionCommand(a)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmdenv.Usage(cmd, "missing AGENT, as in: gc drain AGENT; inside a session: gc drain check, gc drain ack")
		}
		return cmdenv.Between(1, 1)(cmd, args)
	}
	cmd.Long += `

"gc drain check" and "gc drain ack" are for agents, inside their own sessions. To drain an agent that is
named check or ack: gc session drain AGENT`
	cmd.AddCommand(drainCheckCommand(a), drainAckCommand(a))
	return cmd
}

func drainCheckCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "check",
		Short: "Check whether this agent should finish and stop",
		Long: `For agents, inside their own sessions: reports whether gc drain was called for this agent. Exit status
0: yes, finish your work and then run gc drain ack. Exit status 1: no. Exit status 6: no controller
answers; continue to work.`,
		Example: "  if gc drain check; then save-my-work && gc drain ack; fi",
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, instance, err := a.currentAgent(cmd)
			if err != nil {
				return err
			}
			return a.OnTarget(cmd.Context(), name, func(c *client.Client) error {
				drain, err := c.DrainState(cmd.Context(), name)
				if err != nil {
					return err
				}
				if drain.Instance != "" && drain.Instance != instance {
					drain = client.Drain{} // for another instance, not this one
				}
				return a.printDrain(drain)
			})
		},
	})
}

// printDrain prints whether this agent must finish. If not, the exit status is [cmdenv.Failed].
func (a *app) printDrain(drain client.Drain) error {
	if err := a.PrintIfJSON(drain); err != nil {
		return err
	}
	if !drain.Draining {
		a.Messagef("this agent is not asked to stop")
		return cmdenv.SilentExit(cmdenv.Failed)
	}
	left := textfmt.In(a.Now(), drain.Deadline)
	if left != "" {
		left = "gc stops this agent in " + left
	}
	a.Messagef("finish your work, then run: gc drain ack (%s)", textfmt.OneLine(textfmt.Join(cmp.Or(drain.Reason, "no reason was given"), left)))
	return nil
}

func drainAckCommand(a *app) *cobra.Command {
	return selfCommand(a, &cobra.Command{
		Use:   "ack",
		Short: "Report that this agent has finished; gc stops it",
		Long: `For agents, inside their own sessions: reports that the agent has finished its work after gc drain. The
controller then stops the session at once. If the agent was not asked to stop, the exit status is 4.`,
		Example: "  gc drain ack --reason 'all work is committed'",
	}, (*client.Client).DrainAck, "acknowledged; gc stops this session now", "what was done, for people: `text`")
}

func requestRestartCommand(a *app) *cobra.Command {
	return selfCommand(a, &cobra.Command{
		Use:   "request-restart",
		Short: "For agents: request a restart after this turn",
		Long: `For agents, inside their own sessions: the controller restarts the agent when its turn has ended. To
restart an agent from outside: gc restart AGENT`,
		Example: "  gc session request-restart --reason 'new settings'",
	}, (*client.Client).RequestRestart, "gc restarts this agent at the end of this turn", "why, for people: `text`")
}

// selfCommand completes a command that sends a request for the agent in whose session it runs. It has no arguments and the flag
// --reason, whose help is reason.
func selfCommand(a *app, cmd *cobra.Command, verb lifecycleCall, success, reason string) *cobra.Command {
	var req client.LifecycleRequest
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.onCurrentAgent(cmd, req, verb, success) }
	cmd.Flags().StringVar(&req.Reason, "reason", "", reason)
	return a.AddJSONFlag(cmd)
}

// onCurrentAgent calls verb for the agent in whose session this program runs, and for this instance
// only. It prints success if the request was accepted now or before.
func (a *app) onCurrentAgent(cmd *cobra.Command, req client.LifecycleRequest, verb lifecycleCall, success string) error {
	name, instance, err := a.currentAgent(cmd)
	if err != nil {
		return err
	}
	req.Instance = instance
	return a.OnTarget(cmd.Context(), name, func(c *client.Client) error {
		done, err := verb(c, context.WithoutCancel(cmd.Context()), name, req)
		if err == nil && !done.Changed { // the same request was accepted before
			return a.PrintResult(done, nil, cmp.Or(done.Detail, success))
		}
		return a.PrintDone(done, err, success)
	})
}
