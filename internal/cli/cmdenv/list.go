package cmdenv

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/render"
)

// Flags are the flags of a list command: --all and --watch.
type Flags struct{ all, watch bool }

// On adds the flags to a command.
func (f *Flags) On(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&f.all, "all", false, "include recently finished ones")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "watch for changes (with --json: one JSON document per line)")
	return cmd
}

// which returns the entries to list: all of them with --all, else the open ones.
func (f *Flags) which() client.Which {
	if f.all {
		return client.WithEnded
	}
	return client.OnlyOpen
}

// List prints a list of entries.
type List[T any] struct {
	// Ask returns the entries of an agent or session, or of the whole city if the target is empty.
	Ask func(c *client.Client, ctx context.Context, target string, which client.Which) ([]T, error)
	// Format returns the entries as text.
	Format func(render.Formatter, []T) string
	// Empty is the message for people if there are no entries.
	Empty string
	// Note returns a message for people that follows the list; empty: none. Nil: none.
	Note func(ctx context.Context, c *client.Client, target string) string
	// Name is the key of the list in JSON.
	Name string
}

// Run returns the action of a command that prints the list once, or with --watch each time it may have changed. The first argument
// of the command, if it has one, is the target.
func (l List[T]) Run(d *Base, flags *Flags) Action {
	return func(cmd *cobra.Command, args []string) error {
		return d.OnTargetIfAny(cmd.Context(), args, func(c *client.Client) error {
			return l.show(cmd.Context(), d, c, First(args), flags)
		})
	}
}

// show prints the list with a client of the city's controller.
func (l List[T]) show(ctx context.Context, d *Base, c *client.Client, target string, flags *Flags) error {
	ask := func(ctx context.Context) ([]T, error) { return l.Ask(c, ctx, target, flags.which()) }
	if flags.watch {
		live := Live[[]T]{Follow: FollowEvents(c, ask), Page: func(f render.Formatter, list []T) string {
			if len(list) == 0 {
				return l.Empty + "\n"
			}
			return l.Format(f, list)
		}}
		if d.JSON {
			live.Print = OnChange(func(list []T) any { return list }, func(list []T) error { return d.PrintJSONLine(Rows(l.Name, list)) })
		}
		return live.Run(ctx, d)
	}
	list, err := ask(ctx)
	switch {
	case err != nil:
		return err
	case d.JSON:
		return d.PrintJSON(Rows(l.Name, list))
	case len(list) == 0:
		d.Messagef("%s", l.Empty)
	default:
		if _, err = fmt.Fprint(d.Stdout, l.Format(d.Formatter(), list)); err != nil {
			return err
		}
	}
	if l.Note != nil {
		if words := l.Note(ctx, c, target); words != "" {
			d.Messagef("%s", words)
		}
	}
	return nil
}
