package cmdenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"gascity/client"
)

// OnCity calls verb with a client of the city's controller, and closes the client after that.
func (d *Base) OnCity(verb func(*client.Client) error) error {
	c, err := d.Client()
	if err != nil {
		return err
	}
	defer c.Close()
	return verb(c)
}

// OnTarget calls verb with a client of the city's controller; name is the agent or session on
// which verb acts. A "not found" error of verb gets suggestions for similar names.
func (d *Base) OnTarget(ctx context.Context, name string, verb func(*client.Client) error) error {
	if name == "" {
		return errNoName
	}
	return d.withSuggestions(verb, func(c *client.Client, err error) error { return SuggestAgent(ctx, c, name, err) })
}

// errNoName reports that an agent's name is empty.
var errNoName = fmt.Errorf("%w: an agent's name is empty; gc status lists them", client.ErrInvalid)

// withSuggestions calls verb with a client of the city's controller. A "not found" error of verb gets suggestions.
func (d *Base) withSuggestions(verb func(*client.Client) error, suggest func(*client.Client, error) error) error {
	return d.OnCity(func(c *client.Client) error {
		err := verb(c)
		if errors.Is(err, client.ErrNotFound) {
			return suggest(c, err)
		}
		return err
	})
}

// OnTargetIfAny is [Base.OnTarget] with the first argument as the name, or [Base.OnCity] without
// arguments.
func (d *Base) OnTargetIfAny(ctx context.Context, args []string, verb func(*client.Client) error) error {
	if len(args) == 0 {
		return d.OnCity(verb)
	}
	return d.OnTarget(ctx, args[0], verb)
}

// OnID calls verb with a client of the city's controller; id names the object on which verb acts.
// A "not found" error of verb gets suggestions from list.
func (d *Base) OnID(ctx context.Context, id string, list IDs, verb func(*client.Client) error) error {
	if id == "" {
		return fmt.Errorf("%w: the id is empty", client.ErrInvalid)
	}
	return d.withSuggestions(verb, func(c *client.Client, err error) error { return SuggestOf(ctx, c, id, list, err) })
}

// Action is what a command does, see [cobra.Command.RunE].
type Action = func(cmd *cobra.Command, args []string) error

// RootAction returns the action of a command that acts on the city directory and needs no controller, see [Base.Root].
func (d *Base) RootAction(verb func(ctx context.Context, root string, args []string) error) Action {
	return func(cmd *cobra.Command, args []string) error {
		root, err := d.Root()
		if err != nil {
			return err
		}
		return verb(cmd.Context(), root, args)
	}
}

// CityAction returns the action of a command that acts on the city, see [Base.OnCity].
func (d *Base) CityAction(verb func(ctx context.Context, c *client.Client, args []string) error) Action {
	return func(cmd *cobra.Command, args []string) error {
		return d.OnCity(func(c *client.Client) error { return verb(cmd.Context(), c, args) })
	}
}

// TargetAction returns the action of a command that acts on the agent or session in its first argument, see [Base.OnTarget].
func (d *Base) TargetAction(verb func(ctx context.Context, c *client.Client, name string) error) Action {
	return func(cmd *cobra.Command, args []string) error {
		return d.OnTarget(cmd.Context(), args[0], func(c *client.Client) error { return verb(cmd.Context(), c, args[0]) })
	}
}

// IDAction returns the action of a command that acts on the object with the id in its first argument, see [Base.OnID].
func (d *Base) IDAction(list IDs, verb func(ctx context.Context, c *client.Client, id string) error) Action {
	return func(cmd *cobra.Command, args []string) error {
		return d.OnID(cmd.Context(), args[0], list, func(c *client.Client) error { return verb(cmd.Context(), c, args[0]) })
	}
}

// InstanceFlag adds the flag --instance to a command.
func InstanceFlag(cmd *cobra.Command, instance *string) {
	cmd.Flags().StringVar(instance, "instance", "", "only if this instance still runs: the `id` that gc session show prints")
}

// Named reports whether one of the targets is the name of the agent or of its session.
func Named(agent client.Agent, targets ...string) bool {
	return slices.Contains(targets, agent.Name) || slices.Contains(targets, agent.Session)
}

// FindAgent returns the agent of a status with a name, or whose session has that name; ok is false if there is none.
func FindAgent(status client.Status, name string) (agent client.Agent, ok bool) {
	i := slices.IndexFunc(status.Agents, func(a client.Agent) bool { return Named(a, name) })
	if i < 0 {
		return client.Agent{}, false
	}
	return status.Agents[i], true
}

// Exists returns an error that matches [client.ErrNotFound] if there is no file or directory at
// path. The message names it as the user did.
func Exists(path, as string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no file or directory %s", client.ErrNotFound, as)
	}
	return err
}

// First returns the first argument; "" if there is none.
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
