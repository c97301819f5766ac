package agent

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/text"
)

func interruptCommand(a *app) *cobra.Command {
	var req client.LifecycleRequest
	cmd := &cobra.Command{
		Use:   "interrupt AGENT",
		Short: "Ask an agent to abandon its turn",
		Args:  desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				done, err := c.Interrupt(cmd.Context(), args[0], req)
				return a.tellDone(done, err, "interrupted "+args[0])
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	desk.InstanceFlag(cmd, &req.Instance)
	return cmd
}

func keysCommand(a *app) *cobra.Command {
	var req client.KeysRequest
	cmd := &cobra.Command{
		Use:     "keys AGENT KEY...",
		Short:   "Press keys in an agent's terminal",
		Long:    `Sends key events by their tmux names (Enter, Escape, Up, C-c, F1; a single character is itself).`,
		Example: "  gc keys worker Down Enter",
		Args:    desk.Between(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				req.Keys = args[1:]
				done, err := c.Keys(cmd.Context(), args[0], req)
				if errors.Is(err, client.ErrInvalid) {
					err = fmt.Errorf("%w; text is sent with: gc nudge", err)
				}
				return a.tellDone(done, err, fmt.Sprintf("pressed %s in %s", text.Count(len(args)-1, "key"), args[0]))
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	desk.InstanceFlag(cmd, &req.Instance)
	return cmd
}

func copyCommand(a *app) *cobra.Command {
	var req client.CopyRequest
	cmd := &cobra.Command{
		Use:     "copy AGENT SOURCE [DESTINATION]",
		Short:   "Copy a file or folder into an agent's work folder",
		Long:    `DESTINATION is relative to the work folder and cannot leave it; without it the folder itself.`,
		Example: "  gc copy worker notes.md docs/notes.md",
		Args:    desk.Between(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Src = a.Path(args[1])
			if len(args) > 2 {
				req.RelDst = args[2]
			}
			if err := desk.Exists(req.Src, args[1]); err != nil {
				return err
			}
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				done, err := c.Copy(cmd.Context(), args[0], req)
				return a.tellDone(done, err, fmt.Sprintf("copied %s to %s", args[1], args[0]))
			})
		},
		ValidArgsFunction: a.CompleteAgentThenFiles,
	}
	desk.InstanceFlag(cmd, &req.Instance)
	return cmd
}

// tellDone says what a verb did. A verb that did nothing was refused.
func (a *app) tellDone(done client.Done, err error, success string) error {
	if err != nil {
		return err
	}
	if !done.Changed {
		return fmt.Errorf("%w: nothing was done: %s", client.ErrRefused, text.FirstOf(done.Detail, "no reason was given"))
	}
	a.Talk("%s", success)
	return nil
}
