package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/textfmt"
)

func interruptCommand(a *app) *cobra.Command {
	var req client.LifecycleRequest
	cmd := &cobra.Command{
		Use:   "interrupt AGENT",
		Short: "Interrupt an agent's turn",
		Long: `Makes the agent abandon its current turn, as a person does with the interrupt key of the agent CLI. The
agent keeps running. If no turn is in progress, nothing is sent, and a message says so.`,
		Example: "  gc interrupt coder",
		Args:    cmdenv.Between(1, 1),
		RunE: a.TargetAction(func(ctx context.Context, c *client.Client, name string) error {
			req.InTurn = true
			done, err := c.Interrupt(ctx, name, req)
			if err == nil && !done.Changed && strings.HasSuffix(done.Detail, client.NoTurn) {
				return a.PrintResult(done, nil, fmt.Sprintf("%s is %s; to send the key anyway: gc keys %s C-c", name, done.Detail, name))
			}
			return a.PrintDone(done, err, "interrupted "+name)
		}),
		ValidArgsFunction: a.CompleteAgent,
	}
	cmdenv.InstanceFlag(cmd, &req.Instance)
	return a.AddJSONFlag(cmd)
}

func keysCommand(a *app) *cobra.Command {
	var req client.KeysRequest
	var clearInput bool
	cmd := &cobra.Command{
		Use:   "keys AGENT KEY...",
		Short: "Send keys to an agent's terminal",
		Long: `Sends keys to the agent's terminal. Keys have the names that tmux uses: Enter, Escape, Up, C-c, F1; a
single character stands for itself. To send text use gc send.

With --clear-input it removes all text from the agent's input box instead, also text that a person has
typed, and returns when the box is empty. Use it when gc status shows "input blocked".`,
		Example: "  gc keys worker Down Enter\n  gc keys worker --clear-input",
		Args: func(cmd *cobra.Command, args []string) error {
			if clearInput && len(args) > 1 {
				return cmdenv.Usage(cmd, "--clear-input cannot be used with keys")
			}
			if clearInput {
				return cmdenv.Between(1, 1)(cmd, args)
			}
			return cmdenv.Between(2, -1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if clearInput {
				return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
					done, err := c.ClearInput(cmd.Context(), args[0], client.LifecycleRequest{Instance: req.Instance})
					return a.PrintDone(done, err, "cleared the input box of "+args[0])
				})
			}
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				req.Keys = args[1:]
				done, err := c.Keys(cmd.Context(), args[0], req)
				if errors.Is(err, client.ErrInvalid) {
					err = fmt.Errorf("%w; to send text: gc send %s TEXT", err, args[0])
				}
				return a.PrintDone(done, err, fmt.Sprintf("sent %s to %s", textfmt.Count(len(args)-1, "key"), args[0]))
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().BoolVar(&clearInput, "clear-input", false, "remove all text from the input box")
	cmdenv.InstanceFlag(cmd, &req.Instance)
	return a.AddJSONFlag(cmd)
}
