package cmdenv

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/textfmt"
)

// completeWithin limits the time of a completion, because a person waits at the prompt.
const completeWithin = time.Second

// Completion is the type of cobra's functions that complete arguments.
type Completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// Candidates returns a completion for the first maxArgs arguments of a command, or for all arguments if maxArgs is negative. The
// function list returns the candidates. The completion prints no errors: on a failure it has no candidates.
func (d *Base) Candidates(maxArgs int, list IDs) Completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if maxArgs >= 0 && len(args) >= maxArgs {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		var names []string
		err := d.OnCity(func(c *client.Client) (err error) {
			c.OnSkew = nil // a completion prints nothing
			names, err = list(ctx, c)
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// IDs returns the known ids, each followed by a tab and a description.
type IDs = func(context.Context, *client.Client) ([]string, error)

// IDsOf returns the ids of objects in the form of [IDs]. idOf returns the id of an object and its description.
func IDsOf[T any](objects []T, idOf func(T) (id, description string)) []string {
	var ids []string
	for _, object := range objects {
		id, description := idOf(object)
		ids = append(ids, id+"\t"+textfmt.OneLine(description))
	}
	return ids
}

// agents returns the names of the city's agents, each with its state.
func agents(ctx context.Context, c *client.Client) ([]string, error) {
	status, err := c.Status(ctx)
	return IDsOf(status.Agents, func(a client.Agent) (string, string) { return a.Name, a.State }), err
}

// CompleteAgent completes the first argument with agents' names.
func (d *Base) CompleteAgent(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return d.Candidates(1, agents)(cmd, args, word)
}

// CompleteAgents completes every argument with agents' names.
func (d *Base) CompleteAgents(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return d.Candidates(-1, agents)(cmd, args, word)
}

// CompleteAgentThenFiles completes the first argument with agents' names and the
// others with files.
func (d *Base) CompleteAgentThenFiles(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return d.CompleteAgent(cmd, args, word)
}

// Words sets the completion for the value of a flag. It panics if the command has no such flag.
func Words(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the command has no such flag: a programming error
	}
}
