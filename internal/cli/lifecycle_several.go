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

// onEach calls verb concurrently for the agents that the names select. With --json it prints the results, except nil, as the rows of
// the given name.
func onEach[T any](ctx context.Context, a *app, names []string, rows string, verb func(c *client.Client, agent client.Agent) (*T, error)) error {
	return a.OnCity(func(c *client.Client) error {
		of := cmdenv.Selection{Names: names}
		agents, err := of.Agents(ctx, c)
		if err != nil {
			return err
		}
		results := make([]*T, len(agents))
		failed := a.ForEach(agents, func(i int, agent client.Agent) (err error) {
			results[i], err = verb(c, agent)
			return err
		})
		results = slices.DeleteFunc(results, func(r *T) bool { return r == nil })
		return cmp.Or(a.PrintIfJSON(cmdenv.Rows(rows, results)), failed)
	})
}

// stopAgents stops agents and waits until they have stopped, at most for timeout. They stay stopped
// until they are started by a command.
func stopAgents(parent context.Context, a *app, names []string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	return onEach(ctx, a, names, "agents", func(c *client.Client, agent client.Agent) (*outcome, error) {
		waiting := waitingPrompts(ctx, c, agent.Name)
		done, err := c.Suspend(ctx, agent.Name, client.LifecycleRequest{})
		switch {
		case err != nil:
			return nil, err
		case !done.Changed:
			a.Messagef("%s: %s", agent.Name, done.Detail)
			return &outcome{Agent: agent.Name, State: agent.State, Detail: done.Detail}, nil
		}
		is, err := a.awaitOutcome(ctx, c, agent, stopped)
		if err != nil {
			return nil, err
		}
		a.reportDead(ctx, c, waiting)
		a.Messagef("%s is stopped; to start it again: gc start %s", agent.Name, agent.Name)
		return &outcome{Agent: agent.Name, Changed: true, State: is.State}, nil
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
	return onEach(ctx, a, names, "agents", func(c *client.Client, agent client.Agent) (*outcome, error) {
		done, err := startAgent(ctx, c, agent)
		out := outcome{Agent: agent.Name, Changed: done.Changed, Detail: done.Detail}
		switch {
		case err != nil:
			return nil, err
		case done.Changed && noWait:
			a.Messagef("%s is being started", agent.Name)
		case !done.Changed && agent.State == client.StateRunning:
			out.State = agent.State
			a.Messagef("%s is already running", agent.Name)
		case noWait:
			a.Messagef("%s: %s", agent.Name, cmp.Or(done.Detail, "nothing to do"))
		default:
			is, err := a.awaitOutcome(ctx, c, agent, runsAgain)
			if err != nil {
				return nil, err
			}
			out.State = is.State
			a.Messagef("%s runs", agent.Name)
		}
		return &out, nil
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
