package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"gascity/internal/cli/agent"
	"gascity/internal/cli/desk"
	"gascity/internal/cli/talk"
	"gascity/internal/cli/view"
)

// app is one run of the program.
type app struct {
	view.View

	executable string
	assembly   Daemon  // nil without the daemon
	workers    Workers // nil without it
}

// The topics of the help, in its order.
const (
	topicCity    = "city"
	topicAgent   = "agent"
	topicConfig  = "config"
	topicMachine = "machine"
)

const rootLong = `gc runs and supervises a city of AI coding agents: what city.toml asks for is
started, kept running, and can be watched, prompted and stopped from here.

Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 timed out,
6 no controller, 7 a person would be asked.`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "gc",
		Version:       versionOf(a.Version).line(),
		Short:         "Run and supervise a city of AI coding agents",
		Long:          rootLong,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(desk.FlagError)
	root.PersistentFlags().StringVar(&a.City, "city", "", "the city's `folder` (default: the nearest one with a city.toml, here or above)")
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID(topicMachine)
	root.AddGroup(
		&cobra.Group{ID: topicCity, Title: "The city:"},
		&cobra.Group{ID: topicAgent, Title: "Its agents:"},
		&cobra.Group{ID: topicConfig, Title: "Its configuration:"},
		&cobra.Group{ID: topicMachine, Title: "This machine and this program:"},
	)
	root.AddCommand(topic(topicCity, talk.Questions(&a.View)...)...)
	root.AddCommand(topic(topicCity, initCommand(a), startCommand(a), stopCommand(a), restartCommand(a), statusCommand(a), planCommand(a), applyCommand(a), eventsCommand(a), usageCommand(a), controllerCommand(a))...)
	root.AddCommand(topic(topicAgent, talk.Commands(&a.View)...)...)
	root.AddCommand(topic(topicAgent, agent.Commands(&a.View)...)...)
	root.AddCommand(topic(topicAgent, attachCommand(a), copyCommand(a), acpCommand(a), primeCommand(a))...)
	root.AddCommand(topic(topicConfig, configCommand(a), guardCommand(a), hookCommand(a))...)
	root.AddCommand(topic(topicMachine, agentCLICommand(a), doctorCommand(a), bundleCommand(a), uninstallCommand(a), providerCommand(a), workerCommand(a), versionCommand(a), completionCommand(a))...)
	root.AddCommand(shimCommand(a), hostCommand(a), outpostCommand(a), docsCommand(a))
	return root
}

func topic(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.GroupID = id
	}
	return commands
}

// daemon returns the assembly.
func (a *app) daemon() (Daemon, error) {
	if a.assembly == nil {
		return nil, errors.New("this program was built without the daemon")
	}
	return a.assembly, nil
}
