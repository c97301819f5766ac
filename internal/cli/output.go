package cli

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
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// maxLines is the largest number of lines that is requested. No session keeps as many.
const maxLines = 1_000_000

// peekIndent is the indentation, in columns, of the screens of several agents.
const peekIndent = 2

func peekCommand(a *app) *cobra.Command {
	var lines int
	var color bool
	var follow bool
	var of cmdenv.Selection
	cmd := &cobra.Command{
		Use:   "peek AGENT...",
		Short: "Show an agent's screen",
		Long: `Prints the visible screen of an agent, or with -n its last lines. If the agent has stopped, it prints
the agent's last screen and when the agent ended. If no last screen was saved, the exit status is 4;
gc logs prints the recorded output. With several agents, each screen is below its agent's name. A name
may be a pattern such as 'web-*'; --all shows every agent that is not suspended. If there is no such
agent, the exit status is 3. With --color the screen has the colors of the agent; this needs an agent
that runs.

With --follow the screens are shown live until you press Ctrl-C, also after a restart of the agent or of
the controller; several are side by side if the terminal is wide. In a pipe and with --json each changed
screen is a document, at most one a second. The screens show text without colors; control sequences of
agents do not reach this terminal.`,
		Example: "  gc peek coder\n  gc peek coder --color\n  gc peek coder -n 200\n  gc peek --follow coder reviewer\n  gc peek --all -n 5",
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
			if color && cmd.Flags().Changed("lines") {
				return cmdenv.Usage(cmd, "--color cannot be used with --lines: the scrollback has no colors")
			}
			lines := min(lines, maxLines)
			of.Names = args
			if color && follow {
				return cmdenv.Usage(cmd, "--color cannot be used with --follow")
			}
			if follow {
				return a.OnCity(func(c *client.Client) error { return a.followScreens(cmd.Context(), c, of, lines) })
			}
			if color {
				return a.peekStyled(cmd.Context(), of)
			}
			return a.peek(cmd.Context(), of, lines)
		},
		ValidArgsFunction: a.CompleteAgents,
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "print this many last `lines`, including the scrollback (default: the visible screen)")
	cmd.Flags().BoolVar(&color, "color", false, "print the colors and styles of the screen, also into a file or pipe")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show the screens live (with --json: one JSON document per line)")
	of.AllFlag(cmd)
	return a.AddJSONFlag(cmd)
}

// peek prints the screens of agents, or with lines that many of their last lines.
func (a *app) peek(ctx context.Context, of cmdenv.Selection, lines int) error {
	read := func(c *client.Client, name string) (client.Output, error) { return c.Peek(ctx, name, lines) }
	return showScreens(ctx, a, of, read, func(name string, out client.Output) {
		if !of.One() {
			a.printHead(name, out.EndedAt)
			a.PrintScreen(strings.TrimRight(out.Text, "\n"), peekIndent)
			return
		}
		a.PrintScreen(out.Text, 0)
		if !out.EndedAt.IsZero() {
			a.Messagef("gc: %s stopped %s; this is its last screen", name, textfmt.Ago(a.Now(), out.EndedAt))
		}
	})
}

// peekStyled prints the screens of agents with their colors.
func (a *app) peekStyled(ctx context.Context, of cmdenv.Selection) error {
	read := func(c *client.Client, name string) (client.Screen, error) { return c.ScreenLines(ctx, name) }
	return showScreens(ctx, a, of, read, func(name string, s client.Screen) {
		indent := 0
		if !of.One() {
			a.printHead(name, time.Time{})
			indent = peekIndent
		}
		fmt.Fprint(cmdenv.Raw(a.Stdout), render.StyledScreen(s, indent))
	})
}

// printHead prints the line above the screen of one of several agents. A zero time means that the agent runs.
func (a *app) printHead(name string, ended time.Time) {
	head := a.Paint(textfmt.Bold, name)
	if !ended.IsZero() {
		head += a.Paint(textfmt.Faint, "  stopped "+textfmt.Ago(a.Now(), ended))
	}
	fmt.Fprintln(a.Stdout, head)
}

// showScreens prints the screen of one agent, or those of several. Of several it prints the error of an agent whose screen cannot be read.
func showScreens[T any](ctx context.Context, a *app, of cmdenv.Selection, read func(*client.Client, string) (T, error), show func(string, T)) error {
	if of.One() {
		name := of.Names[0]
		return a.OnTarget(ctx, name, func(c *client.Client) error {
			s, err := read(c, name)
			if err != nil {
				return err
			}
			if !a.JSON {
				show(name, s)
			}
			return a.PrintIfJSON(s)
		})
	}
	return a.OnCity(func(c *client.Client) error {
		agents, err := of.Agents(ctx, c)
		if err != nil {
			return err
		}
		screens := make([]*T, len(agents))
		failed := a.ForEach(agents, func(i int, agent client.Agent) error {
			s, err := read(c, agent.Name)
			if err == nil {
				screens[i] = &s
			}
			return err
		})
		if a.JSON {
			screens = slices.DeleteFunc(screens, func(s *T) bool { return s == nil })
			return cmp.Or(a.PrintJSON(cmdenv.Rows("screens", screens)), failed)
		}
		for i, s := range screens {
			if s == nil {
				continue // its error has been printed
			}
			show(agents[i].Name, *s)
			fmt.Fprintln(a.Stdout)
		}
		return failed
	})
}

// excerpt holds the flags that select a part of the output.
type excerpt struct {
	since, until string
	turn         int
	follow       bool
	raw, output  bool // the recorded output in place of the conversation
}

func logsCommand(a *app) *cobra.Command {
	var x excerpt
	cmd := &cobra.Command{
		Use:   "logs AGENT",
		Short: "Print an agent's conversation or output",
		Long: `Prints the conversation of an agent: prompts, answers and tool calls, from the transcript of its agent
CLI or from gc's own record of the Agent Client Protocol. Where gc knows no conversation, it says so and
prints the recorded output, as --output does.

--output prints the recorded output, also of previous runs as far as it is kept: each line as the
terminal shows it, without control sequences. It is for programs that print line by line. For a
full-screen program use gc peek, or --raw for the unchanged bytes. In the output a turn begins when the
agent accepts a prompt or becomes busy, and ends when the agent reports its end; without such a report
it ends with the next prompt.`,
		Example: "  gc logs coder --follow\n  gc logs coder --turn 1\n  gc logs worker --output --since 5m",
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
				if !x.raw && !x.output {
					talk := client.ConversationQuery{Turn: x.turn, Since: q.Since, Until: q.Until}
					if err := a.conversation(cmd.Context(), c, args[0], talk, q.Follow); !errors.Is(err, errNoConversation) {
						return err
					}
				}
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
	cmd.Flags().BoolVarP(&x.follow, "follow", "f", false, "also print what is new")
	cmd.Flags().StringVar(&x.since, "since", "", "only what is after this `time`: a duration such as 5m, or a date and time")
	cmd.Flags().StringVar(&x.until, "until", "", "only what is before this `time`")
	cmd.Flags().IntVar(&x.turn, "turn", 0, "only turn `N`, counted from the end; 1 is the last turn")
	cmd.Flags().BoolVar(&x.output, "output", false, "print the recorded output in place of the conversation")
	cmd.Flags().BoolVar(&x.raw, "raw", false, "print the recorded output with its control sequences")
	return a.AddJSONFlag(cmd)
}

// logQuery returns the query for the recorded output that the flags of gc logs select. Flags that cannot be used
// together are a usage error.
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
	lineWriter := &textfmt.LineWriter{Out: stripped, Follow: q.Follow && !a.JSON}
	if !raw {
		screen, _ := c.Screen(ctx, name) // without it, lines are not wrapped
		lineWriter.Cols, out = screen.Cols, lineWriter
	}
	_, err = io.Copy(out, body)
	if !raw {
		err = cmp.Or(err, lineWriter.Close())
	}
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
