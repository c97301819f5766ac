package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/retry"
	"gascity/internal/textfmt"
)

const (
	defaultStopTimeout    = 5 * time.Minute
	defaultRestartTimeout = 5 * time.Minute
)

func stopCommand(a *app) *cobra.Command {
	var timeout time.Duration
	var alone bool
	cmd := &cobra.Command{
		Use:   "stop [AGENT...]",
		Short: "Stop agents, or the whole city",
		Long: `With names it stops these agents; they stay stopped until gc start AGENT. A name may be a pattern such
as 'web-*'. The city and its other agents keep running.

Without a name it stops the whole city: it asks each agent to stop, kills any that does not exit,
reports processes that survive, and stops the controller. Exit status 0 means that no process of the
city is running. To stop only the controller and leave the agents running: gc controller stop

If no controller can start, for example because the disk is full, --without-controller stops the
sessions and processes of the city and keeps its records. It is refused while a controller runs.`,
		Example: "  gc stop coder\n  gc stop",
		Args:    cmdenv.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if alone && len(args) > 0 {
				return cmdenv.Usage(cmd, "--without-controller stops the whole city and takes no names")
			}
			if alone {
				return a.stopAlone(cmd.Context(), timeout)
			}
			if len(args) > 0 {
				return stopAgents(cmd.Context(), a, args, timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.OnCity(func(c *client.Client) error { return a.stop(ctx, c) })
		},
	}
	cmd.ValidArgsFunction = a.CompleteAgents
	cmd.Flags().BoolVar(&alone, "without-controller", false, "stop the city in this process, if no controller can start")
	cmd.Flags().DurationVar(&timeout, "timeout", defaultStopTimeout, "how long to wait for agents to stop; the controller continues after that")
	return a.AddJSONFlag(cmd)
}

// stop stops all agents and then the controller. It prints each session as it stops, processes that survived, and
// prompts that will not be delivered. The error sets the exit status.
func (a *app) stop(ctx context.Context, c *client.Client) error {
	before, err := c.Status(ctx)
	if errors.Is(err, client.ErrNoController) {
		return a.listUnmanaged(ctx, c.Root, err)
	}
	if err != nil {
		return err
	}
	ended := a.endOf(before.Controller)
	waiting := waitingPrompts(ctx, c)
	census, err := a.stopAndReport(ctx, c)
	if err != nil {
		return err
	}
	var exitErr error
	if census.Clean { // else the controller keeps running and tries again
		exitErr = a.awaitGone(ctx, c, before.Controller, ended)
	}
	if err := a.PrintIfJSON(census); err != nil {
		return err
	}
	a.printCensus(census)
	if len(waiting) > 0 {
		a.Messagef("%s waited in the queue and will not be delivered to a later run; to send one again after gc start: gc queue --all, then gc queue retry ID", textfmt.Count(len(waiting), "prompt"))
	}
	return cmp.Or(exitErr, failIf(!census.Clean))
}

// stopAlone stops the sessions and processes of the city in this process, without a controller. It holds the controller's
// lock during that time, so no controller can start.
func (a *app) stopAlone(parent context.Context, timeout time.Duration) error {
	root, err := a.Root()
	if err != nil {
		return err
	}
	if a.Getenv("GC_CITY_PATH") == root {
		return fmt.Errorf("%w: this command runs inside an agent of the city and would stop itself; run it in a terminal of your own", client.ErrRefused)
	}
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	err = a.OnCity(func(c *client.Client) error {
		if status, err := c.Status(ctx); err == nil {
			return fmt.Errorf("%w: a controller runs (process %d); stop the city with: gc stop", client.ErrRefused, status.Controller.PID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	out, err := a.daemon.Uninstall(ctx, root, client.UninstallRequest{KeepFiles: true})
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(out)
	} else {
		for _, o := range out.Left {
			a.Messagef("not stopped  %s  %s", textfmt.OneLine(o.What), textfmt.OneLine(o.Why))
		}
		a.Messagef("%s stopped; the city's records are kept: gc start starts its agents again", textfmt.Count(len(out.Stopped), "session"))
	}
	return cmp.Or(err, failIf(!out.Clean))
}

// listUnmanaged adds to err, which reports that no controller runs, the sessions of the
// city that are running without one.
func (a *app) listUnmanaged(ctx context.Context, root string, err error) error {
	if _, statErr := os.Stat(filepath.Join(root, ".gc", "runtime-dir")); statErr != nil {
		return err // no session was ever started, or all have been stopped
	}
	selections, listErr := a.daemon.SessionProviders(root)
	if listErr != nil {
		return err
	}
	var names []string
	for _, selection := range selections {
		provider, openErr := a.daemon.Provider(ctx, root, selection)
		if openErr != nil {
			continue // its sessions cannot be listed
		}
		running, _ := provider.ListRunning("") // an incomplete list helps too
		names = append(names, running...)
	}
	if len(names) == 0 {
		return err
	}
	slices.Sort(names)
	return fmt.Errorf("%w --no-wait; then gc stop stops the sessions that still run: %s", err, textfmt.List(names))
}

// stopAndReport stops the city. It prints the result of each session as soon as it is known.
func (a *app) stopAndReport(parent context.Context, c *client.Client) (client.Census, error) {
	page, err := c.PastEvents(parent, 0)
	if err != nil {
		return client.Census{}, err
	}
	ctx, cancel := context.WithCancel(parent)
	var work sync.WaitGroup
	work.Go(func() {
		for e, err := range c.Events(ctx, page.Last) {
			if err != nil {
				continue // the stop itself reports it
			}
			switch name := textfmt.OneLine(cmp.Or(e.Agent, e.Session)); e.Kind {
			case "session.stopped":
				a.Messagef("stopped  %s", name)
			case "session.stop_failed":
				a.Messagef("failed   %s  %s", name, textfmt.OneLine(e.Text))
			}
		}
	})
	work.Go(func() { a.remindOfStop(ctx, c) })
	census, err := c.StopCity(parent)
	cancel()
	work.Wait()
	return census, err
}

// remindOfStop prints which agents have not stopped yet, when the stop takes long. It returns when ctx ends.
func (a *app) remindOfStop(ctx context.Context, c *client.Client) {
	w := a.NewReminder()
	for retry.Sleep(ctx, cmdenv.RemindAfter) {
		status, err := c.Status(ctx)
		if err != nil {
			continue // the stop itself reports it
		}
		w.Remind(stillRunning(status))
	}
}

// stillRunning lists the agents that may still run, each with its state and reason.
func stillRunning(status client.Status) []string {
	var open []string
	for _, agent := range status.Agents {
		switch agent.State {
		case client.StateStopping, client.StateUnknown, client.StateRunning, client.StateStarting:
			open = append(open, agent.Name+" ("+textfmt.Join(agent.State, render.Reason(agent.Reason))+")")
		}
	}
	return open
}

// printCensus prints the result of a stop for people; with --json nothing.
func (a *app) printCensus(census client.Census) {
	switch {
	case a.JSON:
		return
	case len(census.Sessions) == 0:
		a.Messagef("no session was running; the controller has stopped")
		return
	}
	fmt.Fprint(a.Stdout, a.Formatter().Census(census))
	if !census.Clean {
		a.Messagef("gc: some sessions are still running; the controller keeps trying, and exits when all have stopped")
		a.Messagef("gc: to see what still runs: gc status; to try again now: gc stop; to end the controller and leave the sessions running: gc controller stop; to start the city again: gc start")
		return
	}
	a.Messagef("%s; the controller has stopped", render.Stopped(census))
}

func restartCommand(a *app) *cobra.Command {
	var timeout time.Duration
	var instance string
	cmd := &cobra.Command{
		Use:   "restart [AGENT...]",
		Short: "Restart agents (all, if none is named)",
		Long: `Stops the agents, starts them again, and waits until they run. Use it after an update of an agent
CLI or of its settings. The controller keeps running. If an agent fails to start, the exit status is 1.`,
		Example: "  gc restart coder\n  gc restart",
		Args:    cmdenv.Between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if instance != "" && len(args) != 1 {
				return cmdenv.Usage(cmd, "--instance needs exactly one agent")
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

// restart restarts the agents of a request, or all, and waits for them.
func (a *app) restart(ctx context.Context, c *client.Client, req client.RestartRequest) error {
	before, err := c.Status(ctx)
	if err != nil {
		return err
	}
	targets, old := req.Targets, map[string]client.Agent{}
	for _, agent := range before.Agents {
		if len(targets) == 0 || cmdenv.Named(agent, targets...) {
			old[agent.Name] = agent
		}
	}
	waiting := waitingPrompts(ctx, c, slices.Collect(maps.Keys(old))...)
	if req.Instance != "" {
		_, err = c.RestartInstance(ctx, targets[0], req.Instance)
	} else {
		_, err = c.Restart(ctx, targets...)
	}
	if errors.Is(err, client.ErrNotFound) {
		for _, target := range targets {
			if _, ok := cmdenv.FindAgent(before, target); !ok {
				return cmdenv.SuggestAgent(ctx, c, target, err)
			}
		}
		return err
	} else if err != nil {
		return err
	}
	err = a.AwaitAgents(ctx, c, func(agent client.Agent) cmdenv.Verdict {
		was, asked := old[agent.Name]
		if !asked {
			return cmdenv.Skipped
		}
		return a.judgeRestart(was, agent)
	})
	a.reportDead(ctx, c, waiting)
	return err
}

// deadLimit is how long a command waits to find out which prompts will not be delivered.
const deadLimit = 2 * time.Second

// waitingPrompts returns the prompts that wait for the running instances of the named agents or sessions, or of all if none is
// named. If the queue cannot be read, it returns none.
func waitingPrompts(ctx context.Context, c *client.Client, names ...string) []client.Receipt {
	waiting, _ := c.Queue(ctx, "", client.OnlyOpen)
	return slices.DeleteFunc(waiting, func(r client.Receipt) bool {
		named := len(names) == 0 || slices.Contains(names, r.Agent) || slices.Contains(names, r.Session)
		return r.Instance == "" || !named
	})
}

// reportDead reports which of the prompts that waited will not be delivered, because they were for a
// run that was stopped.
func (a *app) reportDead(parent context.Context, c *client.Client, waiting []client.Receipt) {
	if a.JSON {
		return // messages are for people
	}
	ctx, cancel := context.WithTimeout(parent, deadLimit)
	defer cancel()
	for _, r := range waiting {
		now, err := c.Receipt(ctx, r.ID, client.ReceiptSubmitted)
		if err != nil { // no final state within deadLimit, for example because the prompt waits for the next run
			now, err = c.Receipt(parent, r.ID, "")
		}
		if err == nil && now.State == client.ReceiptDead {
			a.Messagef("a prompt for %s waited for the run that was stopped and will not be delivered; to send it again: gc queue retry %s", now.Agent, now.ID)
		}
	}
}

// warnOfDead reports which prompts wait for a run that is being stopped. A prompt becomes dead if the run ends before it gets the
// prompt, unless a later run may get it.
func (a *app) warnOfDead(waiting []client.Receipt) {
	if a.JSON {
		return // messages are for people
	}
	for _, r := range waiting {
		a.Messagef("a prompt for %s waits for the run that is being stopped; if it becomes dead, send it again with: gc queue retry %s", r.Agent, r.ID)
	}
}

// judgeRestart returns the verdict about an agent that must restart; was is the agent before.
func (a *app) judgeRestart(was, is client.Agent) cmdenv.Verdict {
	v := cmdenv.Wanted(is)
	if v != cmdenv.Reached {
		return v
	}
	switch was.State {
	case client.StateRunning:
		if is.Instance == was.Instance && is.Restarts == was.Restarts {
			return cmdenv.Waiting // the previous instance still runs
		}
	case client.StateFailed, client.StateQuarantined:
		if a.MayFailAgain(is) {
			return cmdenv.Waiting
		}
	}
	return cmdenv.Reached
}
