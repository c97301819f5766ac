package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
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
		Long: `Stops the city as gc stop does, and any process that is left of it. Then it removes what gc has made:
the directories .gc and .runtime, sockets, terminal servers, and what gc has put on other hosts. The
city's delivery statuses, events and usage are in .gc and are removed too. city.toml, working
directories, conversations of agent CLIs and all other files stay. At the end it checks again: exit
status 0 means that nothing is left. If a process cannot be stopped, it is named and nothing is removed.
No controller is needed.`,
		Example: "  gc destroy --dry-run\n  gc destroy --yes", Args: cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, err := a.daemon()
			if err != nil {
				return err
			}
			root, err := a.Root()
			if err != nil {
				return err
			}
			if a.Getenv("GC_CITY_PATH") == root {
				return fmt.Errorf("%w: this would end the agent that asks for it, before it is done; call it from outside of the city", client.ErrRefused)
			}
			return a.uninstall(cmd.Context(), daemon, root, flags)
		},
	}
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVarP(&flags.dryRun, "dry-run", "n", false, "only list what would be removed")
	cmd.Flags().BoolVar(&flags.LeaveUnreachable, "leave-unreachable", false, "skip hosts that cannot be reached; the exit status is 1 then")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", defaultStopTimeout, "how long to wait for agents to stop")
	return a.Listing(cmd)
}

func (a *app) uninstall(ctx context.Context, d Remains, root string, flags uninstallFlags) error {
	remains, err := d.Remains(ctx, root)
	if err != nil {
		return err
	}
	if flags.dryRun && a.JSON {
		return a.Document(remains)
	}
	if remains.Empty() {
		a.Talk("there is nothing of %s on this machine but its own files", root)
		return a.told(client.Uninstalled{Remains: remains, Stopped: []string{}, Removed: []string{}, Left: []client.Obstacle{}, Clean: true})
	}
	if !a.JSON {
		fmt.Fprint(a.Stdout, a.Sheet().Remains(remains))
	}
	if flags.dryRun {
		return nil
	}
	if len(remains.Foreign) > 0 {
		return fmt.Errorf("%w: nothing was ended or removed: %s: %s", client.ErrRefused, remains.Foreign[0].What, remains.Foreign[0].Why)
	}
	if err := a.sure(remains, flags); err != nil {
		return err
	}
	stopped, err := a.stopFirst(ctx, root, flags.timeout)
	if err != nil {
		return err
	}
	out, err := d.Uninstall(ctx, root, flags.UninstallRequest)
	if err != nil {
		return err
	}
	out.Remains, out.Stopped = remains, append(stopped, out.Stopped...)
	return a.told(out)
}

// sure asks a person for confirmation, unless a flag has given it.
func (a *app) sure(r client.Remains, flags uninstallFlags) error {
	a.Talk("the city's receipts, events and usage go with it (%s), and nothing brings them back; city.toml and working directories stay", render.Size(r.History))
	if flags.yes {
		return nil
	}
	if !a.IsTerminal(a.Stdin) {
		return fmt.Errorf("%w: standard input is not a terminal; look with gc destroy --dry-run, then pass --yes", client.ErrRefused)
	}
	a.Talk("end and remove all this? [y/N]")
	answer, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); err != nil || word != "y" && word != "yes" {
		return fmt.Errorf("%w: nothing was ended or removed", client.ErrRefused)
	}
	return nil
}

// answerLimit is how long a controller has to say that it is there.
const answerLimit = 5 * time.Second

// stopFirst ends the city by its controller, if one answers.
func (a *app) stopFirst(parent context.Context, root string, timeout time.Duration) (sessions []string, err error) {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	c := a.ClientOf(root)
	defer c.Close()
	looking, end := context.WithTimeout(ctx, answerLimit)
	before, err := c.Status(looking)
	if end(); err != nil {
		return nil, nil // who does not answer is found by the lock that it holds
	}
	ended := a.endOf(before.Controller)
	census, err := a.stopTold(ctx, c)
	switch {
	case errors.Is(err, client.ErrNoController):
		return nil, nil
	case err != nil:
		return nil, err
	case !census.Clean && a.JSON:
		return nil, errors.Join(a.Document(client.Uninstalled{Stopped: []string{}, Removed: []string{}, Left: render.Survivors(census)}), cmdenv.Said(cmdenv.Failed))
	case !census.Clean:
		a.printCensus(census)
		a.Talk("gc: nothing was removed")
		return nil, cmdenv.Said(cmdenv.Failed)
	}
	for _, s := range census.Sessions {
		sessions = append(sessions, s.Session)
	}
	return sessions, a.awaitGone(ctx, c, before.Controller, ended)
}

// told prints what came of it; the exit status is true.
func (a *app) told(out client.Uninstalled) error {
	if a.JSON {
		if err := a.Document(out); err != nil {
			return err
		}
	}
	if words := render.Uninstalled(out); words != "" {
		a.Talk("%s", words)
	}
	if !out.Clean {
		return cmdenv.Said(cmdenv.Failed)
	}
	return nil
}
