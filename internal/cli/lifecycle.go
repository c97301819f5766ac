package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// lifecycleFlags are the flags of a lifecycle command.
type lifecycleFlags struct {
	client.LifecycleRequest

	wait bool // wait until the change has taken effect
}

// lifecycleVerb describes a command that starts or stops a session.
type lifecycleVerb struct {
	name, short, long string
	do                lifecycleCall
	startedText       string // printed after the agent's name when the request is accepted
	doneText          string // printed after the agent's name when the change has taken effect
	reached           func(was, is client.Agent) cmdenv.Verdict
	ends              bool // it ends the current run of an agent
}

const defaultLifecycleTimeout = 2 * time.Minute

// lifecycleCall is the type of the client's methods that start or stop a session.
type lifecycleCall = func(*client.Client, context.Context, string, client.LifecycleRequest) (client.Done, error)

// lifecycleVerbs returns the subcommands of gc session that start or stop a session.
func lifecycleVerbs() []lifecycleVerb {
	return []lifecycleVerb{
		{
			"wake", "Start an agent that is asleep", `Starts an agent that is asleep. An agent that is suspended or quarantined is refused with exit status 4:
use gc start AGENT.`,
			(*client.Client).Wake,
			"is being woken", "runs", runsAgain, false,
		},
		{
			"sleep", "Stop an agent until a prompt or gc wakes it", `Stops the agent's session to save resources. The next prompt, gc session wake or gc start starts it
again. To keep an agent stopped when a prompt arrives: gc stop AGENT`,
			(*client.Client).Sleep,
			"is being put to sleep", "sleeps", stopped, true,
		},
		{
			"suspend", "Stop an agent until it is resumed", `Stops the agent. It stays stopped until gc start AGENT or gc resume AGENT, also when city.toml changes.
gc stop AGENT does the same and waits until the agent has stopped.`,
			(*client.Client).Suspend,
			"is being suspended", "is suspended", stopped, true,
		},
		resume,
		{
			"reset", "Clear failures, quarantine and conversation", `Forgets the failures and the conversation of an agent. If the agent should run, it is started at once.
Its next start begins a new conversation. Use it if an agent fails again and again.`,
			(*client.Client).Reset,
			"is being reset", "is reset", failureCleared, false,
		},
	}
}

var resume = lifecycleVerb{
	"resume", "Resume an agent that is stopped or held back", `Undoes gc stop AGENT and gc drain: the agent runs again. If prompts wait because the model provider
refuses the login or a usage limit is reached, the next prompt is tried at once.`,
	(*client.Client).Resume,
	"is being resumed", "runs", runsAgain, false,
}

// resumeCommand returns "gc resume", which does the same as "gc session resume".
func resumeCommand(a *app) *cobra.Command {
	cmd := lifecycleCommand(a, resume)
	cmd.Example = "  gc resume coder"
	return cmd
}

// runsAgain waits until an agent runs. A failure that is the same as before the request
// does not count, because the first statuses may still show the old state.
func runsAgain(was, is client.Agent) cmdenv.Verdict {
	v := cmdenv.Runs(is)
	if v == cmdenv.Failing && is.State == was.State && is.Epoch == was.Epoch && (was.Reason == "" || is.Reason == was.Reason) {
		return cmdenv.Waiting
	}
	return v
}

// failureCleared waits until an agent runs; if it should not run, until it is no longer failed
// or quarantined.
func failureCleared(was, is client.Agent) cmdenv.Verdict {
	failing := is.State == client.StateFailed || is.State == client.StateQuarantined
	if is.Desired != client.StateRunning && !failing {
		return cmdenv.Reached
	}
	return runsAgain(was, is)
}

// stopped waits until an agent is asleep, suspended or stopped.
func stopped(_, is client.Agent) cmdenv.Verdict {
	switch is.State {
	case client.StateAsleep, client.StateSuspended, client.StateStopped:
		return cmdenv.Reached
	}
	return cmdenv.Waiting
}

// ended waits until the instance of an agent has stopped. The next instance may be running then.
func ended(was, is client.Agent) cmdenv.Verdict {
	if is.Instance != was.Instance || is.Epoch != was.Epoch {
		return cmdenv.Reached
	}
	switch is.State {
	case client.StateRunning, client.StateDraining, client.StateStopping, client.StateUnknown:
		return cmdenv.Waiting
	}
	return cmdenv.Reached
}

// lifecycleCommands returns the subcommands of gc session that start or stop a session.
func lifecycleCommands(a *app) []*cobra.Command {
	commands := []*cobra.Command{drainSessionCommand(a)}
	for _, verb := range lifecycleVerbs() {
		commands = append(commands, lifecycleCommand(a, verb))
	}
	return commands
}

// lifecycleCommand returns the command of a verb.
func lifecycleCommand(a *app, verb lifecycleVerb) *cobra.Command {
	var flags lifecycleFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: verb.name + " AGENT", Short: verb.short, Long: verb.long, Args: cmdenv.Between(1, 1),
		Example: "  gc session " + verb.name + " coder --wait",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.changeLifecycle(ctx, args[0], verb, flags)
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&flags.Reason, "reason", "", "the reason, as `text` that is shown to people")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "wait for the change to take effect")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultLifecycleTimeout, "how long to wait for the answer of the controller and, with --wait, for the change")
	return a.AddJSONFlag(cmd)
}

// drainSessionCommand returns the command "drain AGENT".
func drainSessionCommand(a *app) *cobra.Command {
	var flags lifecycleFlags
	cmd := &cobra.Command{
		Use:   "drain AGENT",
		Short: "Ask an agent to finish its work, then stop it",
		Long: `Asks the agent to finish its work. The controller stops the agent when the agent reports
that it is done (gc drain ack), or after --timeout. With --wait the command returns when the agent
has stopped. To stop an agent at once: gc stop AGENT`,
		Example: "  gc drain coder --timeout 10m --wait",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.Timeout < 0 {
				return cmdenv.Usage(cmd, "--timeout cannot be negative: %v", flags.Timeout)
			}
			verb := lifecycleVerb{
				do:          (*client.Client).Drain,
				startedText: "is asked to finish its work", doneText: "has stopped", reached: ended, ends: true,
			}
			return a.changeLifecycle(cmd.Context(), args[0], verb, flags)
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&flags.Reason, "reason", "", "the reason that people and the agent see: `text`")
	cmd.Flags().DurationVar(&flags.Timeout, "timeout", 0, "stop the agent after this time even without an acknowledgement (default: the agent's drain_timeout)")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "wait until the agent has stopped")
	return a.AddJSONFlag(cmd)
}

// outcome is the result of a command on one agent, as JSON.
type outcome struct {
	Agent   string `json:"agent"`
	Changed bool   `json:"changed"`         // false: there was nothing to change
	State   string `json:"state,omitempty"` // of the agent, if the command waited for it
	Detail  string `json:"detail,omitempty"`
}

// changeLifecycle sends the request of a verb, waits for the change with --wait, and prints the result.
func (a *app) changeLifecycle(ctx context.Context, name string, verb lifecycleVerb, flags lifecycleFlags) error {
	return a.OnTarget(ctx, name, func(c *client.Client) error {
		was, err := agentOf(ctx, c, name)
		if err != nil {
			return err
		}
		waiting := waitingPrompts(ctx, c, was.Name)
		done, err := verb.do(c, ctx, name, flags.LifecycleRequest)
		switch {
		case err != nil:
			return err
		case !done.Changed && !flags.wait:
			return a.PrintResult(outcome{Agent: was.Name, Detail: done.Detail}, nil, fmt.Sprintf("%s: nothing changed; %s", was.Name, textfmt.LocalTimes(cmp.Or(done.Detail, "it is "+was.State))))
		case !flags.wait:
			err := a.PrintResult(outcome{Agent: was.Name, Changed: true, Detail: done.Detail}, nil, verb.acceptedText(was.Name, done.Detail))
			if verb.ends {
				a.warnOfDead(waiting)
			}
			return err
		}
		is, err := a.awaitOutcome(ctx, c, was, verb.reached)
		if err != nil {
			return err
		}
		if is.Instance != was.Instance || is.State != client.StateRunning {
			defer a.reportDead(ctx, c, waiting)
		}
		return a.PrintResult(outcome{Agent: is.Name, Changed: done.Changed, State: is.State}, nil, is.Name+" "+verb.doneText)
	})
}

// acceptedText returns the message for an accepted request; detail is the controller's own text or empty.
func (v lifecycleVerb) acceptedText(name, detail string) string {
	if detail == "" {
		return name + " " + v.startedText
	}
	return name + ": " + textfmt.LocalTimes(detail)
}

// agentOf returns the agent with a name, or whose session has that name, from the status.
func agentOf(ctx context.Context, c *client.Client, name string) (client.Agent, error) {
	status, err := c.Status(ctx)
	if err != nil {
		return client.Agent{}, err
	}
	agent, ok := cmdenv.FindAgent(status, name)
	if !ok {
		err = cmdenv.UnknownAgent(ctx, c, name)
	}
	return agent, err
}

// awaitOutcome waits until reached returns Reached, and returns the agent as it is then. It returns an
// error if the agent fails or ctx ends; for a deadline the error matches [client.ErrTimeout].
func (a *app) awaitOutcome(ctx context.Context, c *client.Client, was client.Agent, reached func(was, is client.Agent) cmdenv.Verdict) (client.Agent, error) {
	changed, stop := cmdenv.Changes(ctx, c)
	defer stop()
	for {
		is, err := agentOf(ctx, c, was.Name)
		switch {
		case err != nil && ctx.Err() == nil:
			return is, err
		case errors.Is(ctx.Err(), context.Canceled):
			return is, ctx.Err()
		case ctx.Err() != nil:
			return is, fmt.Errorf("%w: %s is still %s; see: gc explain %s", client.ErrTimeout, was.Name, cmp.Or(is.State, was.State), was.Name)
		case reached(was, is) == cmdenv.Reached:
			return is, nil
		case reached(was, is) == cmdenv.Failing:
			return is, fmt.Errorf("%s is %s: %s; see: gc explain %s", is.Name, is.State, cmp.Or(render.Reason(is.Reason), is.Exit, "no reason known"), is.Name)
		}
		cmdenv.PauseFor(ctx, cmdenv.PollInterval, changed) // if ctx has ended, the next round returns the error
	}
}
