package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
)

func completionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Generate a shell completion script",
		Long: `Prints a script for the shell:

  bash   eval "$(gc completion bash)"          in ~/.bashrc
  zsh    gc completion zsh > "${fpath[1]}/_gc"
  fish   gc completion fish > ~/.config/fish/completions/gc.fish`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      cmdenv.Between(1, 1),
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
			return cmdenv.Usage(cmd, "there is no completion for %q%s", args[0], cmdenv.DidYouMean(args[0], cmd.ValidArgs))
		},
	}
}

func (a *app) completeProviders(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || a.assembly == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	providers, err := a.assembly.Providers(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range providers {
		names = append(names, p.Name+"\t"+p.Summary)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
