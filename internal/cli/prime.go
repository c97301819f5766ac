package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/domain/plan"
	"gascity/worker"
)

// primed is the output of gc prime --json.
type primed struct {
	Agent    string             `json:"agent"`
	Mode     worker.ContextMode `json:"mode"`
	Sections []worker.Section   `json:"sections"`
}

func primeCommand(a *app) *cobra.Command {
	var modeName string
	cmd := &cobra.Command{
		Use:   "prime [AGENT]",
		Short: "Print an agent's startup context",
		Long: `Prints the context that gc gives an agent when it starts: its name, its role and rules, its first task
and, in the modes compact and resume, where its history is. Agents run this command themselves; without
AGENT it is for the agent in whose session it runs ($GC_AGENT). A section that is too long for its mode
is shortened, and a note says so. After a compaction an agent gets the output of --mode compact. No
controller is needed. If there is no such agent, the exit status is 3.`,
		Example: "  gc prime coder\n  gc prime --mode compact",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := cmp.Or(cmdenv.First(args), a.Getenv("GC_AGENT"))
			if name == "" {
				return cmdenv.Usage(cmd, "missing AGENT: GC_AGENT is not set; use: gc prime AGENT")
			}
			mode, err := plan.ParseContextMode(modeName)
			if err != nil {
				return cmdenv.Usage(cmd, "%v", err)
			}
			root, err := a.Root()
			if err != nil {
				return err
			}
			sections, err := a.daemon.Prime(cmd.Context(), root, name, mode)
			out := primed{name, mode, append([]worker.Section{}, sections...)}
			return a.Show(out, err, func(render.Formatter) string { return plan.ContextText(sections) + "\n" })
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&modeName, "mode", string(worker.FullContext), "the context for a new conversation (full), after a compaction (compact) or for a resumed conversation (resume)")
	return a.AddJSONFlag(cmd)
}
