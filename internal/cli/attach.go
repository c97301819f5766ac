package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/runtime"
)

func attachCommand(a *app) *cobra.Command {
	var opts runtime.AttachOptions
	cmd := &cobra.Command{
		Use:   "attach AGENT",
		Short: "Connect this terminal to an agent",
		Long: `Connects this terminal until you detach or the agent ends. The agent goes on either way, and so does
the connection if the controller is restarted meanwhile. Ctrl-b d or Ctrl-\ detaches; Ctrl-b twice sends
one. Several terminals may be connected at once: the agent's takes the size of the one used last.`,
		Args: desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error { return a.attach(cmd.Context(), c, args[0], opts) })
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().BoolVarP(&opts.ReadOnly, "read-only", "r", false, "look on: send no keys and no size")
	cmd.Flags().StringArrayVar(&opts.DetachKeys, "detach-keys", nil, "`keys` that detach instead, by tmux name, such as \"C-a d\"; may be given several times")
	return cmd
}

func (a *app) attach(ctx context.Context, c *client.Client, name string, opts runtime.AttachOptions) error {
	s, err := c.Session(ctx, name)
	if err != nil {
		return err
	}
	if s.State != client.StateRunning && s.State != client.StateStarting {
		return fmt.Errorf("%w: %s is %s; what it last printed: gc peek %s", client.ErrRefused, s.Name, s.State, name)
	}
	if !a.IsTerminal(a.Stdin) {
		return fmt.Errorf("%w: attach needs a terminal; without one use: gc peek %s, gc nudge %s TEXT", client.ErrRefused, name, name)
	}
	daemon, err := a.daemon()
	if err != nil {
		return err
	}
	provider, err := daemon.Provider(ctx, c.Root, s.Provider)
	if err != nil {
		return err
	}
	err = runtime.AttachTerminal(ctx, provider, s.Session, opts)
	switch {
	case errors.Is(err, runtime.ErrAttachUnsupported):
		return fmt.Errorf("%w; read its output with: gc logs --follow %s", err, name)
	case errors.Is(err, runtime.ErrSessionNotFound):
		return fmt.Errorf("%w: the session %s has just ended", client.ErrNotFound, s.Session)
	}
	return err
}
