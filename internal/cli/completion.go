package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
)

// completeWithin bounds the question for names: a person waits at the prompt.
const completeWithin = time.Second

func completionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Let the shell complete commands and agents' names",
		Long: `Prints a script for the shell:

  bash   eval "$(gc completion bash)"          in ~/.bashrc
  zsh    gc completion zsh > "${fpath[1]}/_gc"
  fish   gc completion fish > ~/.config/fish/completions/gc.fish`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				_, err := fmt.Fprint(a.Stdout, bashCompletion)
				return err
			case "zsh":
				return cmd.Root().GenZshCompletion(a.Stdout)
			case "fish":
				return cmd.Root().GenFishCompletion(a.Stdout, true)
			}
			return usage(cmd, "there is no completion for %q%s", args[0], didYouMean(args[0], cmd.ValidArgs))
		},
	}
}

// completeAgents completes the first argument with agents' names. It is silent
// about every failure: a completion cannot explain one.
func (a *app) completeAgents(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && cmd.Name() != "restart" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	root, err := a.root()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c := &client.Client{Root: root}
	defer c.Close()
	status, err := c.Status(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, agent := range status.Agents {
		names = append(names, agent.Name+"\t"+agent.State)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeAgentsThenFiles(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.completeAgents(cmd, args, word)
}

func (a *app) completeProviders(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || a.Daemon == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	providers, err := a.Daemon.Providers(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range providers {
		names = append(names, p.Name+"\t"+p.Summary)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
