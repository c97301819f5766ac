package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

// uninstallFlags are the flags of gc destroy.
type uninstallFlags struct {
	client.UninstallRequest
	yes, dryRun bool
	timeout     time.Duration
}

func uninstallCommand(a *app) *cobra.Command {
	var flags uninstallFlags
	cmd := &cobra.Command{
		Use:     "destroy",
		Aliases: []string{"uninstall"},
		Short:   "Remove everything gc created for this city",
		Long: `Stops the city as gc stop does, and any other process of it. Then it removes what gc has created: the
directories .gc and .runtime, sockets, terminal servers, and files of gc on other hosts. The city's
delivery statuses, events and usage are in .gc and are removed too. city.toml, working directories,
conversations of agent CLIs and all other files stay. At the end it checks again: exit status 0 means
that nothing is left. If a process cannot be stopped, it is named and nothing is removed. No controller
is needed.`,
		Example: "  gc destroy --dry-run\n  gc destroy --yes",
		RunE: a.RootAction(func(ctx context.Context, root string, _ []string) error {
			if a.Getenv("GC_CITY_PATH") == root {
				return fmt.Errorf("%w: this command runs inside an agent of the city: it would stop the agent, and itself, before the city is removed; run it in a terminal of your own", client.ErrRefused)
			}
			return a.uninstall(ctx, root, flags)
		}),
	}
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVarP(&flags.dryRun, "dry-run", "n", false, "only list what would be removed")
	cmd.Flags().BoolVar(&flags.LeaveUnreachable, "leave-unreachable", false, "skip hosts that cannot be reached; the exit status is 1 then")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", defaultStopTimeout, "how long to wait for agents to stop")
	return a.AddJSONFlag(cmd)
}

// uninstall lists what gc has created for the city, stops the city and removes it.
func (a *app) uninstall(ctx context.Context, root string, flags uninstallFlags) error {
	remains, err := a.daemon.Remains(ctx, root)
	if err != nil {
		return err
	}
	if flags.dryRun && a.JSON {
		return a.PrintJSON(remains)
	}
	if remains.Empty() {
		a.Messagef("nothing to remove: gc has created nothing for %s on this machine", root)
		return a.printUninstalled(client.Uninstalled{Remains: remains, Stopped: []string{}, Removed: []string{}, Left: []client.Obstacle{}, Clean: true})
	}
	if !a.JSON {
		fmt.Fprint(a.Stdout, a.Formatter().Remains(remains))
	}
	if flags.dryRun {
		return nil
	}
	if len(remains.Foreign) > 0 {
		return fmt.Errorf("%w: nothing was stopped or removed: %s: %s", client.ErrRefused, remains.Foreign[0].What, remains.Foreign[0].Why)
	}
	if err := a.confirm(remains, flags); err != nil {
		return err
	}
	stopped, err := a.stopFirst(ctx, root, flags.timeout)
	if err != nil {
		return err
	}
	out, err := a.daemon.Uninstall(ctx, root, flags.UninstallRequest)
	if err != nil {
		return err
	}
	out.Remains, out.Stopped = remains, append(stopped, out.Stopped...)
	return a.printUninstalled(out)
}

// confirm asks for confirmation unless --yes is set. The error matches [client.ErrRefused] if the answer is
// not yes or there is no terminal.
func (a *app) confirm(r client.Remains, flags uninstallFlags) error {
	a.Messagef("the city's delivery statuses, events and usage (%s) are removed and cannot be restored; city.toml and working directories stay", render.Size(r.History))
	if flags.yes {
		return nil
	}
	return a.askFor("stop and remove all this?", "check with gc destroy --dry-run, then run gc destroy --yes", "nothing was stopped or removed")
}

// answerLimit is how long a controller may take to answer the first request.
const answerLimit = 5 * time.Second

// stopFirst stops the city if a controller answers, and returns the names of the stopped sessions. Without
// a controller it does nothing.
func (a *app) stopFirst(parent context.Context, root string, timeout time.Duration) (sessions []string, err error) {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	c := a.ClientOf(root)
	defer c.Close()
	first, cancelFirst := context.WithTimeout(ctx, answerLimit)
	before, err := c.Status(first)
	if cancelFirst(); err != nil {
		return nil, nil // Uninstall finds a controller that does not answer by its lock
	}
	ended := a.endOf(before.Controller)
	census, err := a.stopAndReport(ctx, c)
	switch {
	case errors.Is(err, client.ErrNoController):
		return nil, nil
	case err != nil:
		return nil, err
	case !census.Clean:
		a.printCensus(census)
		a.Messagef("gc: nothing was removed")
		left := client.Uninstalled{Stopped: []string{}, Removed: []string{}, Left: render.Survivors(census)}
		return nil, errors.Join(a.PrintIfJSON(left), cmdenv.SilentExit(cmdenv.Failed))
	}
	for _, s := range census.Sessions {
		sessions = append(sessions, s.Session)
	}
	return sessions, a.awaitGone(ctx, c, before.Controller, ended)
}

// printUninstalled prints the result. The exit status is [cmdenv.Failed] if something is left.
func (a *app) printUninstalled(out client.Uninstalled) error {
	if err := a.PrintIfJSON(out); err != nil {
		return err
	}
	if words := render.Uninstalled(out); words != "" {
		a.Messagef("%s", words)
	}
	return failIf(!out.Clean)
}
