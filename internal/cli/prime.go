package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/domain/agentcontext"
	"gascity/worker"
)

// primed is what gc prime prints as JSON.
type primed struct {
	Agent    string             `json:"agent"`
	Mode     worker.ContextMode `json:"mode"`
	Sections []worker.Section   `json:"sections"`
}

func primeCommand(a *app) *cobra.Command {
	var word string
	cmd := &cobra.Command{
		Use:   "prime [AGENT]",
		Short: "Print an agent's startup context",
		Long: `Prints the context that the city gives an agent when it starts: its name, its role and rules, its first
task and, in the modes compact and resume, where its history is. Agents run it themselves; without a
name it is the agent in whose session it runs ($GC_AGENT). A section that is too long for its mode is
cut, and says so. After a compaction an agent gets the output of --mode compact. No controller is
needed.`,
		Args: cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, "")
			if name == "" {
				name = a.Getenv("GC_AGENT")
			}
			if name == "" {
				return cmdenv.Usage(cmd, "which agent? GC_AGENT is not set, so name one: gc prime AGENT")
			}
			mode, err := agentcontext.Mode(word)
			if err != nil {
				return cmdenv.Usage(cmd, "%v", err)
			}
			daemon, root, err := a.daemonAndRoot()
			if err != nil {
				return err
			}
			sections, err := daemon.Prime(cmd.Context(), root, name, mode)
			if err != nil {
				return err
			}
			if a.JSON {
				return a.PrintJSON(primed{name, mode, append([]worker.Section{}, sections...)})
			}
			fmt.Fprintln(a.Stdout, agentcontext.Text(sections))
			return nil
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&word, "mode", string(worker.FullContext), "for a new conversation (full), a compacted one (compact) or one taken up again (resume)")
	return a.AddJSONFlag(cmd)
}
