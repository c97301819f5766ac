package cmdenv

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// Renderer is a [Base] that prints the client's values as JSON or as text, once or each time they
// change.
type Renderer struct {
	Base
}

// Formatter returns a formatter with the colors, the time and the width of this run.
func (v *Renderer) Formatter() render.Formatter {
	return render.Formatter{Painter: v.Painter, Now: v.Now(), Columns: v.Columns()}
}

// Show prints a value: as JSON with --json, else as the text that format returns.
func (v *Renderer) Show(value any, format func(render.Formatter) string) error {
	if v.JSON {
		return v.PrintJSON(value)
	}
	_, err := fmt.Fprint(v.Stdout, format(v.Formatter()))
	return err
}

// Flags are the flags of a list command: --all and --watch.
type Flags struct{ all, watch bool }

// On adds the flags to a command.
func (f *Flags) On(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&f.all, "all", false, "include recently finished ones")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "watch for changes (with --json: one JSON document per line)")
	return cmd
}

// Which returns the entries to list: all of them with --all, else the open ones.
func (f *Flags) Which() client.Which {
	if f.all {
		return client.WithEnded
	}
	return client.OnlyOpen
}

// List prints a list of entries.
type List[T any] struct {
	// Ask returns the entries.
	Ask func(context.Context) ([]T, error)
	// Format returns the entries as text.
	Format func(render.Formatter, []T) string
	// Empty is the message for people if there are no entries.
	Empty string
	// Note returns a message for people that follows the list; empty: none. Nil: none.
	Note func(context.Context) string
	// Name is the key of the list in JSON.
	Name string
}

// Show prints the list once, or with --watch each time it may have changed.
func (l List[T]) Show(ctx context.Context, v *Renderer, c *client.Client, flags Flags) error {
	if flags.watch {
		return Live[[]T]{
			Follow: FollowEvents(c, l.Ask),
			Page: func(f render.Formatter, list []T) string {
				if len(list) == 0 {
					return l.Empty + "\n"
				}
				return l.Format(f, list)
			},
			Print: l.printLine(v),
		}.Run(ctx, v)
	}
	list, err := l.Ask(ctx)
	switch {
	case err != nil:
		return err
	case v.JSON:
		return v.PrintJSON(Rows(l.Name, list))
	case len(list) == 0:
		v.Messagef("%s", l.Empty)
	default:
		if _, err = fmt.Fprint(v.Stdout, l.Format(v.Formatter(), list)); err != nil {
			return err
		}
	}
	if l.Note != nil {
		if words := l.Note(ctx); words != "" {
			v.Messagef("%s", words)
		}
	}
	return nil
}

// printLine returns the function that prints each list as a line of JSON; nil without --json.
func (l List[T]) printLine(v *Renderer) func([]T) error {
	if !v.JSON {
		return nil
	}
	return func(list []T) error { return v.PrintJSONLine(Rows(l.Name, list)) }
}

// Outcome is the result of a command on one agent, as JSON.
type Outcome struct {
	Agent   string `json:"agent"`
	Changed bool   `json:"changed"`         // false: there was nothing to change
	State   string `json:"state,omitempty"` // of the agent, if the command waited for it
	Detail  string `json:"detail,omitempty"`
}

// PrintOutcome prints the result of a command on one agent: out as JSON with --json, otherwise the
// message words.
func (v *Renderer) PrintOutcome(out Outcome, words string) error {
	if v.JSON {
		return v.PrintJSON(out)
	}
	v.Messagef("%s", words)
	return nil
}

// PrintOutcomes prints the results of a command on several agents as JSON; without --json it
// prints nothing.
func (v *Renderer) PrintOutcomes(list []Outcome) error {
	if !v.JSON {
		return nil
	}
	return v.PrintJSON(Rows("agents", list))
}

// PrintDone prints the result of a request. If nothing was changed, the error matches
// [client.ErrRefused] and has the reason.
func (v *Renderer) PrintDone(done client.Done, err error, success string) error {
	if err != nil {
		return err
	}
	if !done.Changed {
		return fmt.Errorf("%w: nothing was done: %s", client.ErrRefused, textfmt.FirstOf(done.Detail, "no reason was given"))
	}
	return v.PrintResult(done, success)
}

// PrintResult prints a value: as JSON with --json, else words as a message.
func (v *Renderer) PrintResult(value any, words string) error {
	if v.JSON {
		return v.PrintJSON(value)
	}
	v.Messagef("%s", words)
	return nil
}
