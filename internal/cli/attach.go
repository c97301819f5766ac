package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/runtime"
)

func attachCommand(a *app) *cobra.Command {
	var opts runtime.AttachOptions
	cmd := &cobra.Command{
		Use:   "attach AGENT",
		Short: "Attach this terminal to an agent",
		Long: `Shows the agent's terminal here until you detach or the agent exits. The agent keeps running when you
detach, and a restart of the controller does not disconnect you. An agent that is asleep is woken first.
Detach with Ctrl-\ or Ctrl-b d; press Ctrl-b twice to send Ctrl-b. The terminal shows the keys at the
beginning. Inside your own tmux, gc uses only keys that this tmux does not use. To set other keys use
--detach-keys, or the variable GC_DETACH_KEYS with keys separated by commas.
Several terminals may be attached at once; the agent's screen has the size of the one used last.
If the agent is stopped or has failed, or this is not a terminal, the exit status is 4.`,
		Example: "  gc attach worker\n  GC_DETACH_KEYS='C-q' gc attach worker",
		Args:    cmdenv.Between(1, 1),
		RunE: a.TargetAction(func(ctx context.Context, c *client.Client, name string) error {
			return a.attach(ctx, c, name, opts, a.connect)
		}),
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().BoolVarP(&opts.ReadOnly, "read-only", "r", false, "only watch: send no keys and do not resize")
	cmd.Flags().StringArrayVar(&opts.DetachKeys, "detach-keys", nil, "`keys` that detach instead, by tmux name, such as \"C-a d\"; may be given several times")
	return cmd
}

// attach connects this terminal to the agent's session by connect.
func (a *app) attach(ctx context.Context, c *client.Client, name string, opts runtime.AttachOptions, connect func(context.Context, runtime.Provider, string, runtime.AttachOptions) error) error {
	s, err := c.Session(ctx, name)
	if err != nil {
		return err
	}
	if !a.IsTerminal(a.Stdin) {
		return fmt.Errorf("%w: attach needs a terminal; without one use: gc peek %s, gc send %s TEXT", client.ErrRefused, name, name)
	}
	if s, err = a.wakeFor(ctx, c, name, s); err != nil {
		return err
	}
	provider, err := a.daemon.Provider(ctx, c.Root, s.Provider)
	if err != nil {
		return err
	}
	err = connect(ctx, provider, s.Session, opts)
	switch {
	case errors.Is(err, runtime.ErrAttachUnsupported):
		return fmt.Errorf("%w; read its output with: gc logs --follow %s", err, name)
	case errors.Is(err, runtime.ErrSessionNotFound):
		return fmt.Errorf("%w: the session %s has just stopped", client.ErrNotFound, s.Session)
	}
	return err
}

// connect attaches this terminal to a session, and first prints which keys detach. These are the keys of --detach-keys,
// else those of GC_DETACH_KEYS, else the default keys, without those that the tmux around this terminal uses itself. A
// provider whose detach keys cannot be changed uses its own; then only --detach-keys is passed to it.
func (a *app) connect(ctx context.Context, p runtime.Provider, session string, opts runtime.AttachOptions) error {
	outer := a.outerTmux(ctx)
	byFlag := len(opts.DetachKeys) > 0
	preferred := detachKeys(a.Getenv("GC_DETACH_KEYS"))
	if !byFlag {
		opts.DetachKeys = preferred
	}
	if at := slices.IndexFunc(opts.DetachKeys, outer.takes); at >= 0 {
		a.Messagef("gc: %s does not detach here: the tmux around this terminal uses it itself", runtime.KeyNames(opts.DetachKeys[at:at+1]))
	}
	if len(opts.DetachKeys) == 0 {
		opts.DetachKeys = outer.usable()
	}
	a.Messagef("detach with %s", runtime.KeyNames(opts.DetachKeys))
	if slices.Equal(opts.DetachKeys, defaultDetachKeys) {
		opts.DetachKeys = nil
	}
	err := runtime.AttachTerminal(ctx, p, session, opts)
	if byFlag || len(opts.DetachKeys) == 0 || !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, runtime.ErrAttachUnsupported) {
		return err
	}
	if len(preferred) > 0 {
		a.Messagef("this runtime provider has its own detach keys; GC_DETACH_KEYS is ignored")
	}
	a.Messagef("detach with %s", outer.throughOuter())
	opts.DetachKeys = nil
	return runtime.AttachTerminal(ctx, p, session, opts)
}

// detachKeys splits the list of keys in GC_DETACH_KEYS.
func detachKeys(list string) []string {
	var keys []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// wakeTimeout is how long gc attach waits until an agent runs that it has woken.
const wakeTimeout = 2 * time.Minute

// wakeFor wakes an agent that is not running and waits until it runs. An agent that is suspended
// or has failed is refused. It returns the session's new state.
func (a *app) wakeFor(ctx context.Context, c *client.Client, name string, s client.Session) (client.Session, error) {
	switch s.State {
	case client.StateRunning, client.StateStarting:
		return s, nil
	case client.StateSuspended, client.StateAsleep, client.StateStopped, client.StateStopping, client.StateCreating, client.StateDraining:
	default:
		return s, fmt.Errorf("%w: %s is %s; start it with: gc restart %s; what it last printed: gc peek %s", client.ErrRefused, s.Name, s.State, name, name)
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	if s.State != client.StateCreating {
		if s.State != client.StateSuspended { // the controller refuses that, and names what starts the agent
			a.Messagef("%s is %s; waking it", s.Name, s.State)
		}
		if _, err := c.Wake(ctx, name, client.LifecycleRequest{Reason: "a person attaches"}); err != nil {
			return s, err
		}
	}
	err := a.AwaitAgents(ctx, c, func(agent client.Agent) cmdenv.Verdict {
		if agent.Name != s.Name && agent.Session != s.Session {
			return cmdenv.Skipped
		}
		return cmdenv.Runs(agent)
	})
	if err != nil {
		return s, err
	}
	s, err = c.Session(ctx, name)
	if err == nil && s.State != client.StateRunning && s.State != client.StateStarting {
		err = fmt.Errorf("%w: %s is still %s; see: gc explain %s", client.ErrRefused, s.Name, s.State, name)
	}
	return s, err
}
