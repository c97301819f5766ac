package cmdenv

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// Renderer is the environment of one run of the program, which prints the client's values as JSON or
// as text, at once or each time they change.
type Renderer struct {
	Base
}

// Formatter returns what this run writes pages on.
func (v *Renderer) Formatter() render.Formatter {
	return render.Formatter{Painter: v.Painter, Now: v.Now(), Columns: v.Columns()}
}

// Show prints data: as JSON if that is wanted, else as a page.
func (v *Renderer) Show(value any, paged func(render.Formatter) string) error {
	if v.JSON {
		return v.PrintJSON(value)
	}
	_, err := fmt.Fprint(v.Stdout, paged(v.Formatter()))
	return err
}

// Flags are the flags of a listing that can be followed.
type Flags struct{ all, watch bool }

// On adds the flags to a command.
func (f *Flags) On(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&f.all, "all", false, "include recently finished ones")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "watch for changes (with --json: one JSON document per line)")
	return cmd
}

// Which returns the part of the listing that is wanted.
func (f *Flags) Which() client.Which {
	if f.all {
		return client.WithEnded
	}
	return client.OnlyOpen
}

// List is a listing.
type List[T any] struct {
	// Ask fetches it.
	Ask func(context.Context) ([]T, error)
	// Format makes it a page.
	Format func(render.Formatter, []T) string
	// Empty is printed for people instead of an empty one.
	Empty string
	// Name is that of the list in JSON.
	Name string
}

// Show shows the listing as the flags want it.
func (l List[T]) Show(ctx context.Context, v *Renderer, c *client.Client, flags Flags) error {
	if flags.watch {
		return v.Watch(ctx, c, func(ctx context.Context) error { return l.printFrame(ctx, v) })
	}
	list, err := l.Ask(ctx)
	switch {
	case err != nil:
		return err
	case v.JSON:
		return v.PrintJSON(Rows(l.Name, list))
	case len(list) == 0:
		v.Messagef("%s", l.Empty)
		return nil
	}
	_, err = fmt.Fprint(v.Stdout, l.Format(v.Formatter(), list))
	return err
}

func (l List[T]) printFrame(ctx context.Context, v *Renderer) error {
	list, err := l.Ask(ctx)
	switch {
	case err != nil:
		return err
	case v.JSON:
		return v.PrintJSONLine(Rows(l.Name, list))
	case len(list) == 0:
		return v.PrintFrame(l.Empty + "\n")
	}
	return v.PrintFrame(l.Format(v.Formatter(), list))
}

// Outcome is what a verb did to an agent, as JSON.
type Outcome struct {
	Agent   string `json:"agent"`
	Changed bool   `json:"changed"`         // false: it was so already
	State   string `json:"state,omitempty"` // of the agent, if the command waited for it
	Detail  string `json:"detail,omitempty"`
}

// PrintOutcome prints what a verb did: as JSON if that is wanted, else in the given words.
func (v *Renderer) PrintOutcome(out Outcome, words string) error {
	if v.JSON {
		return v.PrintJSON(out)
	}
	v.Messagef("%s", words)
	return nil
}

// PrintOutcomes prints as JSON, if that is wanted, what a verb did to several agents.
func (v *Renderer) PrintOutcomes(list []Outcome) error {
	if !v.JSON {
		return nil
	}
	return v.PrintJSON(Rows("agents", list))
}

// PrintDone prints what a verb did. A verb that did nothing was refused.
func (v *Renderer) PrintDone(done client.Done, err error, success string) error {
	if err != nil {
		return err
	}
	if !done.Changed {
		return fmt.Errorf("%w: nothing was done: %s", client.ErrRefused, textfmt.FirstOf(done.Detail, "no reason was given"))
	}
	return v.PrintResult(done, success)
}

// PrintResult prints a value as JSON if that is wanted, else words for people.
func (v *Renderer) PrintResult(value any, words string) error {
	if v.JSON {
		return v.PrintJSON(value)
	}
	v.Messagef("%s", words)
	return nil
}
