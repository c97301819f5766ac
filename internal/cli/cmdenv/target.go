package cmdenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"gascity/client"
)

// OnCity runs a verb with a client of the city's controller.
func (d *Base) OnCity(verb func(*client.Client) error) error {
	c, err := d.Client()
	if err != nil {
		return err
	}
	defer c.Close()
	return verb(c)
}

// OnTarget runs a verb on the agent or session that an argument names. A name
// that the controller does not know is followed by what may be meant.
func (d *Base) OnTarget(ctx context.Context, name string, verb func(*client.Client) error) error {
	if name == "" {
		return fmt.Errorf("%w: an agent's name is empty; gc status lists them", client.ErrInvalid)
	}
	return d.OnCity(func(c *client.Client) error {
		err := verb(c)
		if errors.Is(err, client.ErrNotFound) {
			return SuggestAgent(ctx, c, name, err)
		}
		return err
	})
}

// OnTargetIfAny runs a verb on the agent that the first argument names, or on
// the city if there is none.
func (d *Base) OnTargetIfAny(ctx context.Context, args []string, verb func(*client.Client) error) error {
	if len(args) == 0 {
		return d.OnCity(verb)
	}
	return d.OnTarget(ctx, args[0], verb)
}

// IDs lists what an id may name, each with a tab and a description after it.
type IDs = func(context.Context, *client.Client) ([]string, error)

// OnID runs a verb on what an id names. An id that the controller does not know
// is followed by what of the list may be meant.
func (d *Base) OnID(ctx context.Context, id string, list IDs, verb func(*client.Client) error) error {
	if id == "" {
		return fmt.Errorf("%w: the id is empty", client.ErrInvalid)
	}
	return d.OnCity(func(c *client.Client) error {
		err := verb(c)
		if errors.Is(err, client.ErrNotFound) {
			return SuggestOf(ctx, c, id, list, err)
		}
		return err
	})
}

// InstanceFlag lets a verb be meant for one instance.
func InstanceFlag(cmd *cobra.Command, instance *string) {
	cmd.Flags().StringVar(instance, "instance", "", "only if this instance still runs: the `id` that gc session show prints")
}

// Named reports whether one of the targets is the agent or its session.
func Named(agent client.Agent, targets []string) bool {
	for _, target := range targets {
		if target == agent.Name || target == agent.Session {
			return true
		}
	}
	return false
}

// Exists refuses a source that is not there, named as the user named it.
func Exists(path, as string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no file or folder %s", client.ErrNotFound, as)
	}
	return err
}

// First returns the first argument, or empty.
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
