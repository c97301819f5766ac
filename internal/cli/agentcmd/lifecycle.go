package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// lifeOrder is what goes with a verb.
type lifeOrder struct {
	client.LifecycleRequest

	wait bool // for the outcome
}

// lifecycleVerb is a verb on whether a session is to run.
type lifecycleVerb struct {
	name, short, long string
	do                lifecycleCall
	startedText       string // of the agent, once it is accepted
	goal              string // of the agent, once it is true
	reached           func(was, is client.Agent) cmdenv.Verdict
}

const defaultLifeTimeout = 2 * time.Minute

// lifecycleCall is a method of the client.
type lifecycleCall = func(*client.Client, context.Context, string, client.LifecycleRequest) (client.Done, error)

func lifecycleVerbs() []lifecycleVerb {
	return []lifecycleVerb{
		{
			"wake", "Start an agent that is asleep", `An agent that is suspended or quarantined is refused: use gc start AGENT.`,
			(*client.Client).Wake,
			"is woken", "runs", runsAgain,
		},
		{
			"sleep", "Stop an agent until a prompt or gc wakes it", "",
			(*client.Client).Sleep,
			"goes to sleep", "sleeps", rests,
		},
		{
			"suspend", "Stop an agent until it is resumed", `The agent stays stopped until gc start AGENT or gc resume AGENT, also when city.toml changes.`,
			(*client.Client).Suspend,
			"is being suspended", "is suspended", rests,
		},
		{
			"resume", "Resume an agent that is stopped or held back", resumeLong,
			(*client.Client).Resume,
			"is resumed", "runs", runsAgain,
		},
		{
			"reset", "Clear failures, quarantine and conversation", `The agent is started at once if it should run. Its next start begins a new conversation.`,
			(*client.Client).Reset,
			"starts afresh", "is as new", failureCleared,
		},
	}
}

const resumeLong = `Undoes gc stop AGENT and gc drain. If prompts wait because the model provider refuses the login or a
usage limit is reached, the next prompt is tried at once.`

// resumeCommand is "session resume" under a shorter name.
func resumeCommand(a *app) *cobra.Command {
	verbs := lifecycleVerbs()
	cmd := lifeCommand(a, verbs[slices.IndexFunc(verbs, func(l lifecycleVerb) bool { return l.name == "resume" })])
	cmd.Example = "  gc resume coder"
	return cmd
}

// runsAgain waits until an agent runs. The first looks may still show what was
// so before the verb: the same failure is no news.
func runsAgain(was, is client.Agent) cmdenv.Verdict {
	switch is.State {
	case client.StateRunning:
		return cmdenv.Reached
	case client.StateFailed, client.StateQuarantined:
		if is.State != was.State || is.Epoch != was.Epoch || len(was.Reason) > 0 && is.Reason != was.Reason {
			return cmdenv.Failing
		}
	}
	return cmdenv.Waiting
}

// failureCleared waits until an agent that is wanted runs, and until any other has no
// failure left.
func failureCleared(was, is client.Agent) cmdenv.Verdict {
	failing := is.State == client.StateFailed || is.State == client.StateQuarantined
	if is.Desired != client.StateRunning && !failing {
		return cmdenv.Reached
	}
	return runsAgain(was, is)
}

// rests waits for the end of an agent.
func rests(_, is client.Agent) cmdenv.Verdict {
	switch is.State {
	case client.StateAsleep, client.StateSuspended, client.StateStopped:
		return cmdenv.Reached
	}
	return cmdenv.Waiting
}

// ended waits for the end of an instance: the next one may run already.
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

func lifeCommands(a *app) []*cobra.Command {
	commands := []*cobra.Command{drainSessionCommand(a)}
	for _, verb := range lifecycleVerbs() {
		commands = append(commands, lifeCommand(a, verb))
	}
	return commands
}

func lifeCommand(a *app, verb lifecycleVerb) *cobra.Command {
	var order lifeOrder
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: verb.name + " AGENT", Short: verb.short, Long: verb.long, Args: cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.live(ctx, args[0], verb, order)
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&order.Reason, "reason", "", "why, for people: `text`")
	cmd.Flags().BoolVar(&order.wait, "wait", false, "wait for the change to take effect")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultLifeTimeout, "how long to wait")
	return a.AddJSONFlag(cmd)
}

func drainSessionCommand(a *app) *cobra.Command {
	var order lifeOrder
	cmd := &cobra.Command{
		Use:   "drain AGENT",
		Short: "Ask an agent to finish its work, then stop it",
		Long: `Asks the agent to finish its work. It is stopped when it acknowledges (gc drain ack), or after
--timeout. With --wait the command returns when it has stopped.`,
		Example: "  gc drain coder --timeout 10m --wait",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if order.Timeout < 0 {
				return cmdenv.Usage(cmd, "--timeout cannot be negative: %v", order.Timeout)
			}
			verb := lifecycleVerb{
				do:          (*client.Client).Drain,
				startedText: "winds down", goal: "has wound down", reached: ended,
			}
			return a.live(cmd.Context(), args[0], verb, order)
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&order.Reason, "reason", "", "why, for people and the agent: `text`")
	cmd.Flags().DurationVar(&order.Timeout, "timeout", 0, "when it is stopped at the latest (default: the agent's drain_timeout)")
	cmd.Flags().BoolVar(&order.wait, "wait", false, "wait until the agent has stopped")
	return a.AddJSONFlag(cmd)
}

// live carries out the verb and waits for its outcome if that is wanted.
func (a *app) live(ctx context.Context, name string, verb lifecycleVerb, order lifeOrder) error {
	return a.OnTarget(ctx, name, func(c *client.Client) error {
		was, err := agentOf(ctx, c, name)
		if err != nil {
			return err
		}
		done, err := verb.do(c, ctx, name, order.LifecycleRequest)
		switch {
		case err != nil:
			return err
		case !done.Changed && !order.wait:
			return a.PrintOutcome(cmdenv.Outcome{Agent: was.Name, Detail: done.Detail}, fmt.Sprintf("%s: nothing changed; %s", was.Name, textfmt.FirstOf(done.Detail, "it is "+was.State)))
		case !order.wait:
			return a.PrintOutcome(cmdenv.Outcome{Agent: was.Name, Changed: true, Detail: done.Detail}, verb.accepted(was.Name, done.Detail))
		}
		is, err := a.awaitOutcome(ctx, c, was, verb)
		if err != nil {
			return err
		}
		return a.PrintOutcome(cmdenv.Outcome{Agent: is.Name, Changed: done.Changed, State: is.State}, is.Name+" "+verb.goal)
	})
}

// accepted returns what the controller has begun.
func (v lifecycleVerb) accepted(name, detail string) string {
	if detail == "" {
		return name + " " + v.startedText
	}
	return name + ": " + detail
}

// agentOf returns an agent's row of the status.
func agentOf(ctx context.Context, c *client.Client, name string) (client.Agent, error) {
	status, err := c.Status(ctx)
	if err != nil {
		return client.Agent{}, err
	}
	for _, agent := range status.Agents {
		if cmdenv.Named(agent, []string{name}) {
			return agent, nil
		}
	}
	return client.Agent{}, cmdenv.UnknownAgent(ctx, c, name)
}

// awaitOutcome waits until what was asked of the agent is true, or cannot be.
func (a *app) awaitOutcome(parent context.Context, c *client.Client, was client.Agent, verb lifecycleVerb) (client.Agent, error) {
	ctx, cancel := context.WithCancel(parent)
	changed, stopped := cmdenv.Changes(ctx, c)
	defer func() { cancel(); <-stopped }()
	for {
		is, err := agentOf(ctx, c, was.Name)
		if err != nil && parent.Err() == nil {
			return is, err
		}
		switch {
		case errors.Is(parent.Err(), context.Canceled):
			return is, parent.Err()
		case parent.Err() != nil:
			return is, fmt.Errorf("%w: %s is still %s; see: gc explain %s", client.ErrTimeout, was.Name, textfmt.FirstOf(is.State, was.State), was.Name)
		case verb.reached(was, is) == cmdenv.Reached:
			return is, nil
		case verb.reached(was, is) == cmdenv.Failing:
			return is, fmt.Errorf("%s is %s: %s; see: gc explain %s", is.Name, is.State, textfmt.FirstOf(render.Reason(is.Reason), is.Exit, "no reason was given"), is.Name)
		}
		if !cmdenv.PauseFor(ctx, cmdenv.PollInterval, changed) {
			continue // to say what it waited for
		}
	}
}
