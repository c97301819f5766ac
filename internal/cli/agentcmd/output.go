package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/textfmt"
)

// maxLines is the largest number of lines that is requested. No session keeps as many.
const maxLines = 1_000_000

// peekIndent is the indentation, in columns, of the screens of several agents.
const peekIndent = 2

func peekCommand(a *app) *cobra.Command {
	var lines int
	var of cmdenv.Selection
	cmd := &cobra.Command{
		Use:   "peek AGENT...",
		Short: "Show an agent's screen",
		Long: `Prints the visible screen of an agent, or with -n its last lines. It also works after the agent has
stopped. With several agents, each screen is below its agent's name. A name may be a pattern such as
'web-*'; --all shows every agent that is not suspended. If there is no such agent, the exit status is 3.`,
		Example: "  gc peek coder\n  gc peek coder -n 200\n  gc peek coder reviewer\n  gc peek --all -n 5",
		Args: func(cmd *cobra.Command, args []string) error {
			if of.All {
				return cmdenv.Between(0, 0)(cmd, args)
			}
			return cmdenv.Between(1, -1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return cmdenv.Usage(cmd, "--lines cannot be negative: %d", lines)
			}
			lines := min(lines, maxLines)
			of.Names = args
			if !of.One() {
				return a.peekAtEach(cmd.Context(), of, lines)
			}
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				out, err := c.Peek(cmd.Context(), args[0], lines)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.PrintJSON(out)
				}
				a.PrintScreen(out.Text, 0)
				return nil
			})
		},
		ValidArgsFunction: a.CompleteAgents,
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "print this many last `lines`, including the scrollback (default: the visible screen)")
	of.AllFlag(cmd)
	return a.AddJSONFlag(cmd)
}

// screenList is the output of gc peek --json for several agents.
type screenList struct {
	Screens []client.Output `json:"screens"`
}

// peekAtEach prints the screens of several agents, each below its agent's name. It prints the error of
// an agent whose screen cannot be read.
func (a *app) peekAtEach(ctx context.Context, of cmdenv.Selection, lines int) error {
	return a.OnCity(func(c *client.Client) error {
		agents, err := of.Agents(ctx, c)
		if err != nil {
			return err
		}
		screens := make([]client.Output, len(agents))
		failed := a.ForEach(agents, func(i int, agent client.Agent) (err error) {
			screens[i], err = c.Peek(ctx, agent.Name, lines)
			return err
		})
		if a.JSON {
			screens = slices.DeleteFunc(screens, func(out client.Output) bool { return out.Session == "" })
			return cmp.Or(a.PrintJSON(screenList{Screens: screens}), failed)
		}
		for i, out := range screens {
			if out.Session == "" {
				continue // its error has been printed
			}
			fmt.Fprintln(a.Stdout, a.Paint(textfmt.Bold, agents[i].Name))
			a.PrintScreen(strings.TrimRight(out.Text, "\n"), peekIndent)
			fmt.Fprintln(a.Stdout)
		}
		return failed
	})
}

// excerpt holds the flags that select a part of the output.
type excerpt struct {
	since, until string
	turn         int
	follow, raw  bool
}

func logsCommand(a *app) *cobra.Command {
	var x excerpt
	cmd := &cobra.Command{
		Use:   "logs AGENT",
		Short: "Print an agent's output",
		Long: `Prints the recorded output of an agent, also of its previous runs as far as it is kept. Control
sequences are removed; this is readable for programs that print line by line. For a full-screen program
use gc peek, or --raw for the unchanged bytes. A turn begins when the agent accepts a prompt or becomes
busy, and ends when the agent reports its end; without such a report it ends with the next prompt.`,
		Example: "  gc logs worker --since 5m --follow\n  gc logs worker --turn 1",
		Args:    cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := a.logQuery(cmd, x)
			if err != nil {
				return err
			}
			if x.raw && !a.JSON && a.IsTerminal(a.Stdout) {
				return cmdenv.Usage(cmd, "--raw would send control sequences of the agent to this terminal; write the output to a file: gc logs %s --raw > FILE", args[0])
			}
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				if x.turn > 0 {
					page, err := c.FindEvents(cmd.Context(), client.EventQuery{Target: args[0]})
					if err != nil {
						return err
					}
					which, err := nthTurn(args[0], page.Events, x.turn)
					if err != nil {
						return err
					}
					q.Since, q.Until = which.begin, which.end
				}
				if q.Follow {
					q.Until = time.Time{}
				}
				return a.logs(cmd.Context(), c, args[0], q, x.raw)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().BoolVarP(&x.follow, "follow", "f", false, "also print new output")
	cmd.Flags().StringVar(&x.since, "since", "", "only output after this `time`: a duration such as 5m, or a date and time")
	cmd.Flags().StringVar(&x.until, "until", "", "only output before this `time`")
	cmd.Flags().IntVar(&x.turn, "turn", 0, "only turn `N`, counted from the end; 1 is the last turn")
	cmd.Flags().BoolVar(&x.raw, "raw", false, "do not remove control sequences")
	return a.AddJSONFlag(cmd)
}

// logQuery returns the query for the flags.
func (a *app) logQuery(cmd *cobra.Command, x excerpt) (client.LogQuery, error) {
	switch timed := x.since != "" || x.until != ""; {
	case cmd.Flags().Changed("turn") && x.turn < 1:
		return client.LogQuery{}, cmdenv.Usage(cmd, "--turn must be 1 (the last turn) or more: %d", x.turn)
	case x.turn > 0 && timed:
		return client.LogQuery{}, cmdenv.Usage(cmd, "--turn cannot be used with --since or --until")
	case x.follow && (x.until != "" || x.turn > 1):
		return client.LogQuery{}, cmdenv.Usage(cmd, "--follow cannot be used with --until or an earlier turn")
	}
	since, err := a.ParseTime("--since", x.since)
	if err != nil {
		return client.LogQuery{}, err
	}
	until, err := a.ParseTime("--until", x.until)
	return client.LogQuery{Since: since, Until: until, Follow: x.follow}, err
}

// logs prints the output that a query selects; with raw unchanged, else without control sequences.
func (a *app) logs(ctx context.Context, c *client.Client, name string, q client.LogQuery, raw bool) error {
	body, err := c.Logs(ctx, name, q)
	if err != nil {
		return err
	}
	defer body.Close()
	var lines *jsonLines
	out, stripped := cmdenv.Raw(a.Stdout), a.Stdout
	if a.JSON {
		lines = &jsonLines{base: &a.Base, agent: name, follow: q.Follow}
		out, stripped = lines, lines
	}
	if !raw {
		out = &textfmt.Stripper{Out: stripped}
	}
	_, err = io.Copy(out, body)
	if lines != nil {
		err = cmp.Or(err, lines.finish())
	}
	switch {
	case ctx.Err() != nil && q.Follow:
		return nil // Ctrl-C is the normal end of --follow
	case errors.Is(err, os.ErrClosed):
		return nil
	case err != nil:
		return fmt.Errorf("reading the log of %s failed before its end: %w", name, err)
	}
	return nil
}
