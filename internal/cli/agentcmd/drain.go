package agentcmd

import (
	"context"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
)

// currentAgent returns the agent in whose session this program runs, and its instance.
func (a *app) currentAgent(cmd *cobra.Command) (name, instance string, err error) {
	name, token := a.Getenv("GC_AGENT"), a.Getenv("GC_INSTANCE_TOKEN")
	if name == "" || token == "" {
		return "", "", cmdenv.Usage(cmd, "%s is for agents, within their sessions: GC_AGENT and GC_INSTANCE_TOKEN are not set", cmd.CommandPath())
	}
	return name, session.PublicInstance(token), nil
}

func drainCommand(a *app) *cobra.Command {
	cmd := drainSessionCommand(a)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmdenv.Usage(cmd, "too few arguments, want: gc drain AGENT; an agent answers with: gc drain check, gc drain ack")
		}
		return cmdenv.Between(1, 1)(cmd, args)
	}
	cmd.Long += `

"gc drain check" and "gc drain ack" are for agents, within their own sessions. An agent that is called
check or ack is drained with: gc session drain AGENT`
	cmd.AddCommand(drainCheckCommand(a), drainAckCommand(a))
	return cmd
}

func drainCheckCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "check",
		Short: "Check whether this agent should finish and stop",
		Long: `Exit status 0: yes, finish and then run gc drain ack. Exit status 1: no. Exit status 6: the controller
does not answer; do not stop because of that.`,
		Example: "  if gc drain check; then save-my-work && gc drain ack; fi",
		Args:    cmdenv.Between(0, 0),
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
					drain = client.Drain{} // a successor's
				}
				return a.printDrain(drain)
			})
		},
	})
}

func (a *app) printDrain(drain client.Drain) error {
	if a.JSON {
		if err := a.PrintJSON(drain); err != nil {
			return err
		}
	}
	if !drain.Draining {
		if !a.JSON {
			a.Messagef("you are not asked to wind down")
		}
		return cmdenv.SilentExit(cmdenv.Failed)
	}
	if !a.JSON {
		left := textfmt.In(a.Now(), drain.Deadline)
		if left != "" {
			left = "you are ended in " + left
		}
		a.Messagef("wind down, then run: gc drain ack (%s)", textfmt.OneLine(textfmt.Join(textfmt.FirstOf(drain.Reason, "no reason was given"), left)))
	}
	return nil
}

func drainAckCommand(a *app) *cobra.Command {
	var req client.LifecycleRequest
	cmd := &cobra.Command{
		Use:   "ack",
		Short: "Acknowledge that this agent is done; it is stopped",
		Args:  cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ofMyself(cmd, req, (*client.Client).DrainAck, "acknowledged; the session ends now")
		},
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "what was done, for people: `text`")
	return a.AddJSONFlag(cmd)
}

func requestRestartCommand(a *app) *cobra.Command {
	var req client.LifecycleRequest
	cmd := &cobra.Command{
		Use:   "request-restart",
		Short: "For agents: request a restart after this turn",
		Long:  `Agents run it within their own session. To restart an agent from outside: gc restart AGENT`,
		Args:  cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ofMyself(cmd, req, (*client.Client).RequestRestart, "you are restarted at the end of this turn")
		},
	}
	cmd.Flags().StringVar(&req.Reason, "reason", "", "why, for people: `text`")
	return a.AddJSONFlag(cmd)
}

// ofMyself carries out a verb on this agent, and on this instance only.
func (a *app) ofMyself(cmd *cobra.Command, req client.LifecycleRequest, verb lifecycleCall, success string) error {
	name, instance, err := a.currentAgent(cmd)
	if err != nil {
		return err
	}
	req.Instance = instance
	return a.OnTarget(cmd.Context(), name, func(c *client.Client) error {
		done, err := verb(c, context.WithoutCancel(cmd.Context()), name, req)
		if err == nil && !done.Changed { // it was said before, which is as good
			return a.PrintResult(done, textfmt.FirstOf(done.Detail, success))
		}
		return a.PrintDone(done, err, success)
	})
}
