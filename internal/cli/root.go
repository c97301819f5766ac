package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/cli/cmdenv"
	"gascity/internal/textfmt"
)

// app is one run of the program.
type app struct {
	cmdenv.Base

	executable string
	daemon     Daemon
	workers    Workers
}

// The groups of commands, in the order of the help.
const (
	groupDaily   = "Every day:"
	groupAgents  = "Agents and prompts:"
	groupCity    = "The city and its configuration:"
	groupMachine = "This machine and gc itself:"
	groupInside  = "For agents, inside their sessions:"
	groupAuthors = "For authors of workers and runtime providers:"
)

const rootLong = `gc runs and supervises AI coding agents. It starts the agents of city.toml, restarts
them if they crash, delivers your prompts, and shows which agents need your input.`

const exitStatuses = `Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 timed out,
6 no controller, 7 needs a person's approval.`

// newRoot returns the command gc with all subcommands.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "gc",
		Version:       versionOf(a.Version).line(),
		Short:         "Run and supervise AI coding agents",
		Long:          rootLong + "\n\n" + exitStatuses,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			if a.topByDefault() {
				if c := a.topCity(cmd.Context()); c != nil {
					defer c.Close()
					return a.top(cmd.Context(), c)
				}
			}
			if page := a.cityPage(cmd.Context()); page != "" {
				fmt.Fprintf(a.Stdout, "%s\nCommands: gc help\n", page)
				return nil
			}
			fmt.Fprint(a.Stdout, dailyHelp(cmd))
			return nil
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(cmdenv.FlagError)
	root.PersistentFlags().StringVar(&a.City, "city", "", "the city `directory` (default: the nearest one with a city.toml, at or above the current directory)")
	root.SetVersionTemplate("{{.Version}}\n")
	wrapHelp(root)
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID(groupMachine)
	for _, group := range []string{groupDaily, groupAgents, groupCity, groupMachine, groupInside, groupAuthors} {
		root.AddGroup(&cobra.Group{ID: group, Title: group})
	}
	root.AddCommand(
		pendingCommand(a), respondCommand(a), sendCommand(a), queueCommand(a), receiptCommand(a), waitCommand(a),
		explainCommand(a), peekCommand(a), logsCommand(a), diffCommand(a), interruptCommand(a), keysCommand(a), resumeCommand(a), killCommand(a), drainCommand(a), sessionCommand(a),
		initCommand(a), startCommand(a), stopCommand(a), restartCommand(a), statusCommand(a), topCommand(a), attachCommand(a), copyCommand(a), acpCommand(a),
		planCommand(a), applyCommand(a), eventsCommand(a), usageCommand(a), webCommand(a), notifyCommand(a), controllerCommand(a), configCommand(a), guardCommand(a),
		agentCLICommand(a), doctorCommand(a), bundleCommand(a), uninstallCommand(a), versionCommand(a), completionCommand(a),
		primeCommand(a), hookCommand(a), providerCommand(a), workerCommand(a),
	)
	for _, cmd := range root.Commands() {
		cmd.GroupID = cmp.Or(groupOf[cmd.Name()], groupAgents)
		if slices.Contains(daily, cmd.Name()) {
			cmd.GroupID = groupDaily
		}
	}
	takeNoArgs(root)
	root.AddCommand(hiddenCommand(a, "shim", Daemon.Shim), hiddenCommand(a, "acp-host", Daemon.HostACP), outpostCommand(a), docsCommand(a))
	return root
}

// takeNoArgs makes the commands below cmd that do not say which arguments they take accept none.
func takeNoArgs(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Args == nil {
			sub.Args = cmdenv.Between(0, 0)
		}
		takeNoArgs(sub)
	}
}

// daily lists the commands for every day, in the order of the help.
var daily = []string{"init", "start", "status", "top", "pending", "respond", "send", "peek", "attach", "logs", "explain", "stop", "restart"}

// groupOf maps the other commands to their group. A command that is not listed is in groupAgents.
var groupOf = map[string]string{
	"plan": groupCity, "apply": groupCity, "events": groupCity, "web": groupCity, "notify": groupCity, "controller": groupCity, "config": groupCity, "guard": groupCity, "destroy": groupCity,

	"agent-cli": groupMachine, "doctor": groupMachine, "bundle": groupMachine, "version": groupMachine, "completion": groupMachine,

	"prime": groupInside, "hook": groupInside,

	"provider": groupAuthors, "worker": groupAuthors,
}

// dailyHelp returns the help of gc without arguments: the commands for every day, and how to list the others.
func dailyHelp(root *cobra.Command) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", textfmt.WrapParagraphs(rootLong, helpWidth))
	for _, name := range daily {
		if cmd, _, err := root.Find([]string{name}); err == nil {
			fmt.Fprintf(&out, "  gc %-9s %s\n", name, cmd.Short)
		}
	}
	out.WriteString("\nAll commands: gc help all. Help for a command: gc COMMAND --help.\nTo find problems: gc doctor\n")
	return out.String()
}
