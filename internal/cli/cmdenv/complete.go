package cmdenv

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
)

// completeWithin bounds the question for names: a person waits at the prompt.
const completeWithin = time.Second

// Completion is cobra's function that completes an argument.
type Completion = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// Candidates returns a completion of the first argument, or of all of them if
// most is below zero, by what list finds. It is silent about every failure: a
// completion cannot explain one.
func (d *Base) Candidates(most int, list func(context.Context, *client.Client) ([]string, error)) Completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const nothingElse = cobra.ShellCompDirectiveNoFileComp
		if most >= 0 && len(args) >= most {
			return nil, nothingElse
		}
		root, err := d.Root()
		if err != nil {
			return nil, nothingElse
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		c := &client.Client{Root: root}
		defer c.Close()
		names, err := list(ctx, c)
		if err != nil {
			return nil, nothingElse
		}
		return names, nothingElse
	}
}

func agents(ctx context.Context, c *client.Client) ([]string, error) {
	status, err := c.Status(ctx)
	var names []string
	for _, agent := range status.Agents {
		names = append(names, agent.Name+"\t"+agent.State)
	}
	return names, err
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

// Words completes the value of a flag with the given words.
func Words(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a flag that the command does not have: a mistake in the program
	}
}
