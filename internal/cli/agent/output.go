package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/text"
)

// maxLines is more than any session keeps, and as much as may be asked for.
const maxLines = 1_000_000

func peekCommand(a *app) *cobra.Command {
	var lines int
	cmd := &cobra.Command{
		Use:   "peek AGENT",
		Short: "What an agent shows",
		Long:  `Prints the visible screen of an agent, or the last lines that it printed. It works after its end too.`,
		Args:  desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 0 {
				return desk.Usage(cmd, "--lines cannot be negative: %d", lines)
			}
			lines := min(lines, maxLines)
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				out, err := c.Peek(cmd.Context(), args[0], lines)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Document(out)
				}
				a.PrintText(out.Text)
				return nil
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "how many `lines`, from the scrollback too (default: the visible screen)")
	return a.Listing(cmd)
}

func logsCommand(a *app) *cobra.Command {
	var follow, raw bool
	var since string
	cmd := &cobra.Command{
		Use:   "logs AGENT",
		Short: "Everything that an agent printed",
		Long: `Prints the recorded output of an agent, of former incarnations too as far as it is kept. Control
sequences are left out, which suits programs that print line by line; of a full-screen program use
gc peek, or --raw to get each byte.`,
		Args: desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := a.Since(since)
			if err != nil {
				return err
			}
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				return a.logs(cmd.Context(), c, args[0], client.LogQuery{Since: from, Follow: follow}, raw)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is printed from now on")
	cmd.Flags().StringVar(&since, "since", "", "only what is younger than `time`: a duration such as 5m, or a moment")
	cmd.Flags().BoolVar(&raw, "raw", false, "with control sequences")
	return cmd
}

func (a *app) logs(ctx context.Context, c *client.Client, name string, q client.LogQuery, raw bool) error {
	body, err := c.Logs(ctx, name, q)
	if err != nil {
		return err
	}
	defer body.Close()
	out := a.Stdout
	if !raw {
		out = &text.Stripper{Out: a.Stdout}
	}
	_, err = io.Copy(out, body)
	switch {
	case ctx.Err() != nil && q.Follow:
		return nil // to interrupt it is how following ends
	case errors.Is(err, os.ErrClosed):
		return nil
	case err != nil:
		return fmt.Errorf("the log of %s broke off: %w", name, err)
	}
	return nil
}
