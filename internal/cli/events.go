package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/text"
)

// The columns of an event: most names fit, longer ones push the rest.
const (
	eventTime = "2006-01-02 15:04:05.000"
	kindWidth = 24
	nameWidth = 16
)

func eventsCommand(a *app) *cobra.Command {
	var follow bool
	var since string
	cmd := &cobra.Command{
		Use:   "events",
		Short: "What happened in the city",
		Long: `Prints the events that the controller remembers; with --follow every new one too, until it is
interrupted, also across restarts of the controller. With --json one event a line.`,
		Args: desk.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := a.Since(since)
			if err != nil {
				return err
			}
			c, err := a.Client()
			if err != nil {
				return err
			}
			defer c.Close()
			if follow {
				return a.followEvents(cmd.Context(), c, from)
			}
			page, err := c.PastEvents(cmd.Context(), 0)
			if err != nil {
				return err
			}
			return a.printEvents(page.Events, from)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with every new event")
	cmd.Flags().StringVar(&since, "since", "", "only what is younger than `time`: a duration such as 5m, or a moment")
	return a.Listing(cmd)
}

func (a *app) printEvents(events []client.Event, from time.Time) error {
	for _, e := range events {
		if err := a.printEvent(e, from); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) followEvents(ctx context.Context, c *client.Client, from time.Time) error {
	begun := false
	for e, err := range c.Events(ctx, 0) {
		if _, gap := errors.AsType[*client.GapError](err); gap {
			if begun { // before the first one, it only means that the city is older than its memory
				a.Talk("gc: some events were lost")
			}
			continue
		}
		if err != nil {
			return err
		}
		begun = true
		if err := a.printEvent(e, from); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printEvent(e client.Event, from time.Time) error {
	if e.Time.Before(from) {
		return nil
	}
	if a.JSON {
		return a.Line(e)
	}
	who := text.OneLine(text.FirstOf(e.Agent, e.Session))
	row := a.Paint(text.Faint, e.Time.Local().Format(eventTime)) + "  " + a.Pad(eventColor(e.Kind), e.Kind, kindWidth) + "  "
	if e.Text == "" {
		row += who
	} else {
		row += a.Pad(text.Bold, who, nameWidth) + "  " + text.OneLine(e.Text)
	}
	_, err := fmt.Fprintln(a.Stdout, strings.TrimRight(row, " "))
	return err
}

func eventColor(kind string) text.Color {
	switch kind {
	case "session.started", "session.adopted", "controller.recovered":
		return text.Green
	case "session.exited", "session.lost", "session.start_failed", "session.stop_failed", "session.quarantined",
		"controller.degraded", "controller.reload_failed":
		return text.Red
	}
	return text.Cyan
}
