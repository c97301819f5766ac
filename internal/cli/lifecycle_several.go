package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
)

// onEach calls verb concurrently for the agents that the names select, and prints the outcome and the
// message that verb returns.
func (a *app) onEach(ctx context.Context, names []string, verb func(c *client.Client, agent client.Agent) (outcome, string, error)) error {
	return a.OnCity(func(c *client.Client) error {
		of := cmdenv.Selection{Names: names}
		agents, err := of.Agents(ctx, c)
		if err != nil {
			return err
		}
		outcomes := make([]outcome, len(agents))
		failed := a.ForEach(agents, func(i int, agent client.Agent) error {
			out, words, err := verb(c, agent)
			if err != nil {
				return err
			}
			out.Agent = agent.Name
			outcomes[i] = out
			a.Messagef("%s", words)
			return nil
		})
		done := slices.DeleteFunc(outcomes, func(out outcome) bool { return out.Agent == "" })
		return cmp.Or(a.PrintIfJSON(cmdenv.Rows("agents", done)), failed)
	})
}

// stopAgents stops agents and waits until they have stopped, at most for timeout. They stay stopped
// until they are started by a command.
func stopAgents(parent context.Context, a *app, names []string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	return a.onEach(ctx, names, func(c *client.Client, agent client.Agent) (out outcome, words string, err error) {
		waiting := waitingPrompts(ctx, c, agent.Name)
		done, err := c.Suspend(ctx, agent.Name, client.LifecycleRequest{})
		switch {
		case err != nil:
			return out, "", err
		case !done.Changed:
			return outcome{State: agent.State, Detail: done.Detail}, agent.Name + ": " + done.Detail, nil
		}
		is, err := a.awaitOutcome(ctx, c, agent, stopped)
		if err == nil {
			a.reportDead(ctx, c, waiting)
		}
		return outcome{Changed: true, State: is.State}, agent.Name + " is stopped; to start it again: gc start " + agent.Name, err
	})
}

// startAgents starts agents that are stopped, suspended or asleep, or have failed. It waits until
// they run, at most for timeout. With a zero timeout it returns when the controller has accepted
// the requests.
func startAgents(ctx context.Context, a *app, names []string, timeout time.Duration) error {
	noWait := timeout == 0
	if !noWait {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	return a.onEach(ctx, names, func(c *client.Client, agent client.Agent) (out outcome, words string, err error) {
		done, err := startAgent(ctx, c, agent)
		out = outcome{Changed: done.Changed, Detail: done.Detail}
		switch {
		case err != nil:
			return out, "", err
		case done.Changed && noWait:
			return out, agent.Name + " is being started", nil
		case !done.Changed && agent.State == client.StateRunning:
			out.State = agent.State
			return out, agent.Name + " is already running", nil
		case noWait:
			return out, agent.Name + ": " + cmp.Or(done.Detail, "nothing to do"), nil
		}
		is, err := a.awaitOutcome(ctx, c, agent, runsAgain)
		out.State = is.State
		return out, agent.Name + " runs", err
	})
}

// startAgent sends the request that starts an agent in its state; none if it is running or starting.
func startAgent(ctx context.Context, c *client.Client, agent client.Agent) (client.Done, error) {
	switch agent.State {
	case client.StateFailed, client.StateQuarantined, client.StateLost:
		return c.StartFailed(ctx, agent.Name)
	case client.StateRunning, client.StateStarting:
		return client.Done{}, nil
	case client.StateSuspended:
		return c.Resume(ctx, agent.Name, client.LifecycleRequest{})
	case client.StateUnknown:
		return client.Done{}, fmt.Errorf("%w: gc does not know whether %s runs: %s", client.ErrRefused, agent.Name, cmp.Or(agent.Reason, "its runtime provider does not answer"))
	}
	if agent.Desired == client.StateSuspended {
		return c.Resume(ctx, agent.Name, client.LifecycleRequest{})
	}
	return c.Wake(ctx, agent.Name, client.LifecycleRequest{})
}
