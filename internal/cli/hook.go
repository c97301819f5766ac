package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

func hookCommand(a *app) *cobra.Command {
	return cmdenv.Group("hook", "Manage the hooks of agent CLIs", `When gc starts an agent, it installs the hooks in the agent's CLI; your own settings are neither read
nor changed. Use these commands to list the hooks, or to install them in an agent CLI that you start
yourself.`,
		hookListCommand(a), hookInstallCommand(a), hookUninstallCommand(a), hookRunCommand())
}

// hookRow is one hook of an agent CLI.
type hookRow struct {
	AgentCLI string `json:"agent_cli"`
	Hook     string `json:"hook"`              // the agent CLI's name for the hook, or the name of a file that the agent CLI loads
	Event    string `json:"event,omitempty"`   // what the hook reports; empty for a file
	Timeout  string `json:"timeout,omitempty"` // how long the agent CLI waits for the hook
}

func hookListCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "list [AGENT-CLI]",
		Short: "List agent CLIs with hooks, and their events",
		Long: `Lists each hook that gc installs: the event that it reports and how long the agent CLI waits for it.
With a name it lists the hooks of that agent CLI only.`,
		Example: "  gc hook list",
		Args:    cmdenv.Between(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && !slices.Contains(agentcli.HookNames(), args[0]) {
				return fmt.Errorf("%w: no agent CLI with hooks is called %q%s", client.ErrNotFound, args[0], cmdenv.DidYouMean(args[0], agentcli.HookNames()))
			}
			rows := hookRows(cmdenv.First(args))
			t := &textfmt.Table{Heads: []string{"AGENT CLI", "HOOK", "EVENT", "TIMEOUT"}}
			for _, r := range rows {
				t.Add(textfmt.Cell{Text: r.AgentCLI}, textfmt.Cell{Text: r.Hook}, textfmt.Cell{Text: cmp.Or(r.Event, "all (a plugin of the agent CLI)")}, textfmt.Cell{Text: r.Timeout})
			}
			return a.Show(cmdenv.Rows("hooks", rows), nil, func(s render.Formatter) string { return s.Table(t) })
		},
		ValidArgs: agentcli.HookNames(),
	})
}

// hookRows returns the hooks of one agent CLI; of all if only is empty.
func hookRows(only string) []hookRow {
	var rows []hookRow
	for _, name := range agentcli.HookNames() {
		if only != "" && only != name {
			continue
		}
		cli, _ := agentcli.LookupHooks(name)
		if cli.Script != "" {
			rows = append(rows, hookRow{AgentCLI: name, Hook: cli.File})
		}
		for _, e := range cli.Events {
			rows = append(rows, hookRow{name, e.Name, fmt.Sprint(e.Means), e.Within().String()})
		}
	}
	return rows
}

// hookTarget is the agent CLI and the directory for which hooks are installed or removed.
type hookTarget struct{ name, dir string }

// on adds the flags to a command.
func (p *hookTarget) on(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.name, "for", "", "the `name` of an agent CLI, instead of an agent: "+strings.Join(agentcli.HookNames(), ", "))
	cmd.Flags().StringVar(&p.dir, "dir", "", "the `directory` of the hooks, used for nothing else (required)")
	cmd.ValidArgs = agentcli.HookNames()
}

// resolve sets the name of the agent CLI from the command's argument, an agent or an agent CLI, and
// checks both fields.
func (p *hookTarget) resolve(a *app, cmd *cobra.Command, args []string) error {
	var err error
	switch {
	case len(args) > 0 && p.name != "":
		return cmdenv.Usage(cmd, "give either an agent or --for")
	case len(args) > 0:
		if p.name, err = a.profileOf(cmd, args[0]); err != nil {
			return err
		}
	case p.name == "":
		return cmdenv.Usage(cmd, "missing AGENT; or name an agent CLI with --for: %s", strings.Join(agentcli.HookNames(), ", "))
	}
	if p.dir == "" {
		return cmdenv.Usage(cmd, "missing --dir DIRECTORY, the directory of the hooks")
	}
	if _, ok := agentcli.LookupHooks(p.name); !ok {
		return fmt.Errorf("%w: there are no hooks for %q; gc has hooks for %s", client.ErrNotFound, p.name, strings.Join(agentcli.HookNames(), ", "))
	}
	return nil
}

// profileOf returns name if it is an agent CLI with hooks, else the agent CLI of the agent with that name.
func (a *app) profileOf(cmd *cobra.Command, name string) (string, error) {
	if _, ok := agentcli.LookupHooks(name); ok {
		return name, nil
	}
	root, err := a.Root()
	if err != nil {
		return "", err
	}
	config, err := a.daemon.ShowConfig(cmd.Context(), root)
	if err != nil {
		return "", err
	}
	for _, v := range config.Values {
		if v.Key == "agents."+name+".provider" {
			return strconv.Unquote(v.Value)
		}
	}
	return "", fmt.Errorf("%w: there is no agent %q, and no agent CLI with hooks has that name; gc has hooks for %s", client.ErrNotFound, name, strings.Join(agentcli.HookNames(), ", "))
}

func hookInstallCommand(a *app) *cobra.Command {
	var target hookTarget
	cmd := &cobra.Command{
		Use:   "install [AGENT] --dir DIRECTORY",
		Short: "Install hooks into a directory",
		Long: `Writes the hooks into the directory of --dir, and prints the variables and arguments with which the
agent CLI uses them. AGENT is an agent of the city or the name of an agent CLI. Your own settings are
not changed. Agents that gc starts do not need this command. If gc has no hooks for the agent CLI, the
exit status is 3.`,
		Example: "  gc hook install " + agentcli.HookNames()[0] + " --dir ~/.cache/gc-hooks",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := target.resolve(a, cmd, args); err != nil {
				return err
			}
			launch, err := a.daemon.InstallHooks(target.name, a.Path(target.dir))
			made := map[string]string{"agent_cli": target.name, "directory": a.Path(target.dir), "command": launch}
			return a.Show(made, err, func(render.Formatter) string { return launch + "\n" })
		},
	}
	target.on(cmd)
	return a.AddJSONFlag(cmd)
}

func hookUninstallCommand(a *app) *cobra.Command {
	var target hookTarget
	cmd := &cobra.Command{
		Use:   "uninstall [AGENT] --dir DIRECTORY",
		Short: "Remove installed hooks",
		Long: `Removes the hooks that gc hook install has written into the directory. Missing hooks are no error. AGENT
is an agent of the city or the name of an agent CLI.`,
		Example: "  gc hook uninstall " + agentcli.HookNames()[0] + " --dir ~/.cache/gc-hooks",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := target.resolve(a, cmd, args); err != nil {
				return err
			}
			if err := a.daemon.UninstallHooks(target.name, a.Path(target.dir)); err != nil {
				return err
			}
			return a.PrintIfJSON(map[string]string{"agent_cli": target.name, "directory": a.Path(target.dir)})
		},
	}
	target.on(cmd)
	return a.AddJSONFlag(cmd)
}

// hookRunCommand returns the command "hook run", which has the help only: the main package runs
// hooks before it parses commands.
func hookRunCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run [--for PROFILE] [--within DURATION] EVENT",
		Short: "Run a hook (called by agent CLIs)",
		Long: `Reads the hook's input from standard input and reports it to the controller. For a tool call it asks
the controller whether the tool may run. If it may not, or the controller does not answer, the exit
status is 2 and the reason is on standard error; agent CLIs take every other status as permission.
The script that runs this command for an agent CLI accepts only output that begins with "gc decides:",
and removes these words: other output would not be a decision of gc. The variables GC_WORKER_SOCKET
(or GC_WORKER_URL), GC_WORKER_TOKEN and GC_RUN_ID name the controller and the run.`,
		Example:            "  gc hook run --for " + agentcli.HookNames()[0] + " tool_call < input.json",
		Args:               cobra.ArbitraryArgs, // the main package parses them
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return cmd.Help()
			}
			return errors.New("this program was built without hooks")
		},
	}
}
