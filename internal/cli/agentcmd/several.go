package agentcmd

import (
	"context"
	"fmt"
	"time"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/textfmt"
)

// onEach runs a verb on the agents that the names select, all at the same time.
func (a *app) onEach(ctx context.Context, names []string, verb func(c *client.Client, agent client.Agent) error) error {
	return a.OnCity(func(c *client.Client) error {
		of := cmdenv.Selection{Names: names}
		agents, err := of.Agents(ctx, c)
		if err != nil {
			return err
		}
		return a.ForEach(agents, func(_ int, agent client.Agent) error { return verb(c, agent) })
	})
}

// Stop stops agents, which stay stopped until somebody starts them, and waits for it.
func Stop(parent context.Context, v *cmdenv.Renderer, names []string, timeout time.Duration) error {
	a := &app{v}
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	return a.onEach(ctx, names, func(c *client.Client, agent client.Agent) error {
		if agent.State == client.StateSuspended {
			a.Messagef("%s is stopped already", agent.Name)
			return nil
		}
		if _, err := c.Suspend(ctx, agent.Name, client.LifecycleRequest{}); err != nil {
			return err
		}
		return a.awaitOutcome(ctx, c, agent, lifecycleVerb{goal: "is stopped; to start it again: gc start " + agent.Name, reached: rests})
	})
}

// Start starts agents, whatever keeps them from running: they were stopped, are asleep, or have
// failed. It waits until they run; without a timeout only until the controller has accepted that.
func Start(ctx context.Context, v *cmdenv.Renderer, names []string, timeout time.Duration) error {
	a := &app{v}
	noWait := timeout == 0
	if !noWait {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	return a.onEach(ctx, names, func(c *client.Client, agent client.Agent) error {
		done, err := startAgent(ctx, c, agent)
		switch {
		case err != nil:
			return err
		case done.Changed && noWait:
			a.Messagef("%s is being started", agent.Name)
			return nil
		case !done.Changed && agent.State == client.StateRunning:
			a.Messagef("%s runs already", agent.Name)
			return nil
		case noWait:
			a.Messagef("%s: %s", agent.Name, textfmt.FirstOf(done.Detail, "nothing to do"))
			return nil
		}
		return a.awaitOutcome(ctx, c, agent, lifecycleVerb{goal: "runs", reached: runsAgain})
	})
}

func startAgent(ctx context.Context, c *client.Client, agent client.Agent) (client.Done, error) {
	switch agent.State {
	case client.StateFailed, client.StateQuarantined, client.StateLost:
		return c.StartFailed(ctx, agent.Name)
	case client.StateRunning, client.StateStarting:
		return client.Done{}, nil
	case client.StateSuspended:
		return c.Resume(ctx, agent.Name, client.LifecycleRequest{})
	case client.StateUnknown:
		return client.Done{}, fmt.Errorf("%w: it is unknown whether %s runs: %s", client.ErrRefused, agent.Name, textfmt.FirstOf(agent.Reason, "its runtime provider does not answer"))
	}
	if agent.Desired == client.StateSuspended {
		return c.Resume(ctx, agent.Name, client.LifecycleRequest{})
	}
	return c.Wake(ctx, agent.Name, client.LifecycleRequest{})
}
