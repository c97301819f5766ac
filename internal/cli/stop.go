package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/agentcmd"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

const (
	defaultStopTimeout    = 5 * time.Minute
	defaultRestartTimeout = 5 * time.Minute
)

func stopCommand(a *app) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "stop [AGENT...]",
		Short: "Stop agents, or the whole city",
		Long: `With names it stops these agents; they stay stopped until gc start AGENT. A name may be a pattern such
as 'web-*'. The city and its other agents keep running.

Without a name it stops the whole city: it asks each agent to stop, kills any that does not exit,
reports processes that survive, and stops the controller. Exit status 0 means that nothing of the city
runs any more. To stop the controller alone and leave the agents running: gc controller stop`,
		Example: "  gc stop coder\n  gc stop",
		Args:    cmdenv.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return agentcmd.Stop(cmd.Context(), &a.Renderer, args, timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.OnCity(func(c *client.Client) error { return a.stop(ctx, c) })
		},
	}
	cmd.ValidArgsFunction = a.CompleteAgents
	cmd.Flags().DurationVar(&timeout, "timeout", defaultStopTimeout, "how long to wait; the controller continues after that")
	return a.AddJSONFlag(cmd)
}

func (a *app) stop(ctx context.Context, c *client.Client) error {
	before, err := c.Status(ctx)
	if errors.Is(err, client.ErrNoController) {
		return a.stopLess(ctx, c.Root, err)
	}
	if err != nil {
		return err
	}
	ended := a.endOf(before.Controller)
	census, err := a.stopAndReport(ctx, c)
	if err != nil {
		return err
	}
	gone := error(nil)
	if census.Clean { // else it stays, for another try
		gone = a.awaitGone(ctx, c, before.Controller, ended)
	}
	if a.JSON {
		if err := a.PrintJSON(census); err != nil {
			return err
		}
	} else {
		a.printCensus(census)
	}
	if gone != nil {
		return gone
	}
	if !census.Clean {
		return cmdenv.SilentExit(cmdenv.Failed)
	}
	return nil
}

// stopLess adds to err, which says that no controller runs, which sessions of
// the city run all the same.
func (a *app) stopLess(ctx context.Context, root string, err error) error {
	if _, statErr := os.Stat(filepath.Join(root, ".gc", "runtime-dir")); statErr != nil || a.assembly == nil {
		return err // no session was ever started, or all were ended
	}
	places, listErr := a.assembly.SessionProviders(root)
	if listErr != nil {
		return err
	}
	var names []string
	for _, place := range places {
		provider, openErr := a.assembly.Provider(ctx, root, place)
		if openErr != nil {
			continue // nothing can be said of it here
		}
		running, _ := provider.ListRunning("") // what is known of a part helps, too
		names = append(names, running...)
	}
	if len(names) == 0 {
		return err
	}
	slices.Sort(names)
	return fmt.Errorf("%w --no-wait; then gc stop ends what still runs: %s", err, textfmt.List(names))
}

// stopAndReport stops the city and prints the result of each session meanwhile.
func (a *app) stopAndReport(parent context.Context, c *client.Client) (client.Census, error) {
	page, err := c.PastEvents(parent, 0)
	if err != nil {
		return client.Census{}, err
	}
	ctx, cancel := context.WithCancel(parent)
	told := make(chan struct{})
	go func() {
		defer close(told)
		for e, err := range c.Events(ctx, page.Last) {
			if err == nil && strings.HasPrefix(e.Kind, "session.stop") {
				a.Messagef("%s  %s", strings.TrimPrefix(e.Kind, "session."), textfmt.OneLine(textfmt.FirstOf(e.Agent, e.Session)+"  "+e.Text))
			}
		}
	}()
	reminded := make(chan struct{})
	go func() { defer close(reminded); a.remindOfStop(ctx, c) }()
	census, err := c.StopCity(parent)
	cancel()
	<-told
	<-reminded
	return census, err
}

// remindOfStop says what a stop that takes long still waits for, until ctx ends.
func (a *app) remindOfStop(ctx context.Context, c *client.Client) {
	w := a.NewReminder()
	for cmdenv.PauseFor(ctx, cmdenv.RemindAfter, nil) {
		status, err := c.Status(ctx)
		if err != nil {
			continue // the stop itself reports it
		}
		w.Remind(notEnded(status))
	}
}

// notEnded names the agents that are not known to have ended, and why.
func notEnded(status client.Status) []string {
	var open []string
	for _, agent := range status.Agents {
		switch agent.State {
		case client.StateStopping, client.StateUnknown, client.StateRunning, client.StateStarting:
			open = append(open, agent.Name+" ("+textfmt.Join(agent.State, render.Reason(agent.Reason))+")")
		}
	}
	return open
}

func (a *app) printCensus(census client.Census) {
	if len(census.Sessions) == 0 {
		a.Messagef("no session was running; the controller has ended")
		return
	}
	fmt.Fprint(a.Stdout, a.Formatter().Census(census))
	if !census.Clean {
		a.Messagef("gc: some sessions are still running; the controller keeps trying, and exits when all have stopped")
		a.Messagef("gc: to see what is left: gc status; to try again now: gc stop; to leave it running: gc controller stop; to continue with the city: gc start")
		return
	}
	a.Messagef("%s; the controller has ended", render.Stopped(census))
}

func restartCommand(a *app) *cobra.Command {
	var timeout time.Duration
	var instance string
	cmd := &cobra.Command{
		Use:   "restart [AGENT...]",
		Short: "Restart agents (all, if none is named)",
		Long:  `Stops the agents, starts them again, and waits until they run. The controller keeps running.`,
		Args:  cmdenv.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if instance != "" && len(args) != 1 {
				return cmdenv.Usage(cmd, "--instance goes with one agent")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.OnCity(func(c *client.Client) error {
				return a.restart(ctx, c, client.RestartRequest{Targets: args, Instance: instance})
			})
		},
		ValidArgsFunction: a.CompleteAgents,
	}
	cmd.Flags().DurationVar(&timeout, "timeout", defaultRestartTimeout, "how long to wait for the agents")
	cmdenv.InstanceFlag(cmd, &instance)
	return a.AddJSONFlag(cmd)
}

func (a *app) restart(ctx context.Context, c *client.Client, req client.RestartRequest) error {
	before, err := c.Status(ctx)
	if err != nil {
		return err
	}
	targets, old := req.Targets, map[string]client.Agent{}
	for _, agent := range before.Agents {
		if len(targets) == 0 || cmdenv.Named(agent, targets) {
			old[agent.Name] = agent
		}
	}
	if req.Instance != "" {
		_, err = c.RestartInstance(ctx, targets[0], req.Instance)
	} else {
		_, err = c.Restart(ctx, targets...)
	}
	if errors.Is(err, client.ErrNotFound) {
		for _, target := range targets {
			if !hasTarget(before, target) {
				return cmdenv.SuggestAgent(ctx, c, target, err)
			}
		}
		return err
	} else if err != nil {
		return err
	}
	return a.AwaitAgents(ctx, c, func(agent client.Agent) cmdenv.Verdict {
		was, asked := old[agent.Name]
		if !asked {
			return cmdenv.Skipped
		}
		return a.restarted(was, agent)
	})
}

// restarted judges an agent that was asked to restart.
func (a *app) restarted(was, is client.Agent) cmdenv.Verdict {
	v := cmdenv.Wanted(is)
	if v != cmdenv.Reached {
		return v
	}
	switch was.State {
	case client.StateRunning:
		if is.Instance == was.Instance && is.Restarts == was.Restarts {
			return cmdenv.Waiting // it is still the previous one
		}
	case client.StateFailed, client.StateQuarantined:
		if a.MayFailAgain(is) {
			return cmdenv.Waiting
		}
	}
	return cmdenv.Reached
}

func hasTarget(status client.Status, target string) bool {
	for _, agent := range status.Agents {
		if cmdenv.Named(agent, []string{target}) {
			return true
		}
	}
	return false
}
