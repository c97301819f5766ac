package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/cli/page"
)

// sheet is what this run writes pages on.
func (a *app) sheet() page.Sheet {
	return page.Sheet{Painter: a.Painter, Now: a.Now(), Columns: a.Columns()}
}

// show prints data: as JSON if that is wanted, else as a page.
func (a *app) show(value any, paged func(page.Sheet) string) error {
	if a.JSON {
		return a.Document(value)
	}
	_, err := fmt.Fprint(a.Stdout, paged(a.sheet()))
	return err
}

// listed shows a listing: at once, or as pictures that follow the city. What is
// said of an empty one is told, not printed.
type listed[T any] struct {
	ask   func(context.Context) ([]T, error)
	paged func(page.Sheet, []T) string
	empty string
}

func (l listed[T]) show(ctx context.Context, a *app) error {
	list, err := l.ask(ctx)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.Document(append([]T{}, list...))
	case len(list) == 0:
		a.Talk("%s", l.empty)
		return nil
	}
	_, err = fmt.Fprint(a.Stdout, l.paged(a.sheet(), list))
	return err
}

func (l listed[T]) watch(ctx context.Context, a *app, c *client.Client) error {
	return a.Watch(ctx, c, func(ctx context.Context) error {
		list, err := l.ask(ctx)
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.Line(append([]T{}, list...))
		case len(list) == 0:
			return a.Picture(l.empty + "\n")
		}
		return a.Picture(l.paged(a.sheet(), list))
	})
}

func statusCommand(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "The city and its agents at a glance",
		Long: `Shows the controller, whether the configuration on disk is in force, and each agent: STATE is the
session's life, ACTIVITY what the agent does (a question mark stands after a guess), UP how long it
runs, OUTPUT when it last printed something, PENDING how many questions wait for a person, QUEUED how
many prompts wait for it. With --watch the picture follows the city until it is interrupted.`,
		Args: desk.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.OnCity(func(c *client.Client) error {
				if watch {
					return a.Watch(cmd.Context(), c, func(ctx context.Context) error { return a.watchStatus(ctx, c) })
				}
				status, err := c.Status(cmd.Context())
				if err != nil {
					return err
				}
				return a.show(status, func(s page.Sheet) string { return s.Status(status) })
			})
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "follow the city; with --json one status a line")
	return a.Listing(cmd)
}

func (a *app) watchStatus(ctx context.Context, c *client.Client) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(status)
	}
	s := a.sheet()
	s.Rows = a.Rows()
	return a.Picture(s.Status(status))
}
