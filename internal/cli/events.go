package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
)

func eventsCommand(a *app) *cobra.Command {
	var follow bool
	var since string
	var query client.EventQuery
	cmd := &cobra.Command{
		Use:   "events [AGENT]",
		Short: "Show the city's events",
		Long: `Prints the recorded events of one agent, or of all. With --follow it also prints new events until you
press Ctrl-C, also while the controller restarts; with --json it then prints one event per line. Event
IDs are unique. Use --after ID to continue where you stopped. If events after that ID are no longer
recorded, a message says so. An ID that no event has had yet is an error with exit status 2.`,
		Example: "  gc events --since 1h\n  gc events worker\n  gc events --follow --json --after 1234",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := a.ParseTime("--since", since)
			if err != nil {
				return err
			}
			query.Since = from
			return a.OnTargetIfAny(cmd.Context(), args, func(c *client.Client) error {
				query.Target = cmdenv.First(args)
				if follow {
					return a.followEvents(cmd.Context(), c, query)
				}
				return a.pastEvents(cmd.Context(), c, query)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "also print new events")
	cmd.Flags().StringVar(&since, "since", "", "only events after this `time`: a duration such as 5m, or a date and time")
	cmd.Flags().Uint64Var(&query.After, "after", 0, "only events after the one with this `id`")
	return a.AddJSONFlag(cmd)
}

// pastEvents prints the recorded events.
func (a *app) pastEvents(ctx context.Context, c *client.Client, query client.EventQuery) error {
	page, err := c.FindEvents(ctx, query)
	if err := cmp.Or(err, checkCursor(page, query.After)); err != nil {
		return err
	}
	if len(page.Events) == 0 && query.Target != "" {
		if _, err := c.Session(ctx, query.Target); errors.Is(err, client.ErrNotFound) {
			return err // neither an agent now nor events of one that was removed
		}
	}
	if page.Gap && query.After > 0 {
		a.printGap(query.After)
	}
	if a.JSON {
		return a.PrintJSON(page)
	}
	for _, e := range page.Events {
		if err := a.printEvent(e); err != nil {
			return err
		}
	}
	return nil
}

// checkCursor returns an error if after is an id that no event has had yet. Then gc cannot
// know whether events were lost.
func checkCursor(page client.EventPage, after uint64) error {
	if !page.Gap || page.Last == 0 || after <= page.Last { // an empty log has no last id to compare with
		return nil
	}
	return fmt.Errorf("%w: no event has the id %d yet, the last one is %d; continue with --after %d", client.ErrInvalid, after, page.Last, page.Last)
}

// followEvents prints the recorded events, then new ones until ctx ends.
func (a *app) followEvents(ctx context.Context, c *client.Client, query client.EventQuery) error {
	if query.After > 0 {
		page, err := c.PastEvents(ctx, query.After)
		if err := cmp.Or(err, checkCursor(page, query.After)); err != nil {
			return err
		}
	}
	begun := query.After > 0
	for e, err := range c.FollowEvents(ctx, query) {
		if gap, lost := errors.AsType[*client.GapError](err); lost {
			if begun { // before the first event, a gap only means that old events were deleted
				a.printGap(gap.After)
			}
			continue
		}
		if err != nil {
			return err
		}
		begun = true
		if err := a.printEvent(e); err != nil {
			return err
		}
	}
	return nil
}

// printGap reports that events with a larger id than after were lost, because the city no longer has them.
func (a *app) printGap(after uint64) {
	a.Messagef("gc: some events after %d were lost", after)
}

// printEvent prints one event: with --json as a line of JSON, otherwise as a line for people.
func (a *app) printEvent(e client.Event) error {
	if a.JSON {
		return a.PrintJSONLine(e)
	}
	_, err := fmt.Fprint(a.Stdout, a.Formatter().Event(e))
	return err
}
