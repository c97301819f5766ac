package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

func completionCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Generate a shell completion script",
		Long: `Prints a script with which the shell completes commands, flags, and names of agents. Install it once:

  bash   eval "$(gc completion bash)"          in ~/.bashrc
  zsh    gc completion zsh > "${fpath[1]}/_gc"
  fish   gc completion fish > ~/.config/fish/completions/gc.fish`,
		Example:   "  gc completion bash",
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      cmdenv.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			script, err := completionScript(cmd, args[0])
			return a.Show(map[string]string{"shell": args[0], "script": script}, err, func(render.Formatter) string { return script })
		},
	})
}

// completionScript returns the completion script for a shell: bash, zsh or fish. Another shell is a
// usage error.
func completionScript(cmd *cobra.Command, shell string) (string, error) {
	var out strings.Builder
	var err error
	switch shell {
	case "bash":
		out.WriteString(bashCompletion)
	case "zsh":
		err = cmd.Root().GenZshCompletion(&out)
	case "fish":
		err = cmd.Root().GenFishCompletion(&out, true)
	default:
		err = cmdenv.Usage(cmd, "there is no completion for %q%s", shell, cmdenv.DidYouMean(shell, cmd.ValidArgs))
	}
	return out.String(), err
}

// completeProviders completes the first argument with the names of runtime providers.
func (a *app) completeProviders(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	providers, err := a.daemon.Providers(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range providers {
		names = append(names, p.Name+"\t"+p.Summary)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
