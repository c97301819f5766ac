package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/agentcli/hooks"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/textfmt"
)

func hookCommand(a *app) *cobra.Command {
	return cmdenv.Group("hook", "Manage the hooks of agent CLIs", `gc installs the hooks of an agent's agent CLI when it starts the agent; your own settings are neither
read nor changed. Use these commands to look at the hooks, or for an agent CLI that you start yourself.`,
		hookListCommand(a), hookInstallCommand(a), hookUninstallCommand(a), hookRunCommand())
}

// hookRow is one hook of an agent CLI.
type hookRow struct {
	AgentCLI string `json:"agent_cli"`
	Hook     string `json:"hook"`              // the agent CLI's name of it, or a file that the agent CLI loads
	Event    string `json:"event,omitempty"`   // what it reports; empty: a file
	Timeout  string `json:"timeout,omitempty"` // how long the agent CLI waits for it
}

func hookListCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "list [AGENT-CLI]",
		Short: "List agent CLIs with hooks, and their events",
		Args:  cmdenv.Between(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && !slices.Contains(hooks.Names(), args[0]) {
				return fmt.Errorf("%w: no agent CLI with hooks is called %q%s", client.ErrNotFound, args[0], cmdenv.DidYouMean(args[0], hooks.Names()))
			}
			rows := hookRows(cmdenv.First(args))
			if a.JSON {
				return a.PrintJSON(cmdenv.Rows("hooks", rows))
			}
			t := &textfmt.Table{Heads: []string{"AGENT CLI", "HOOK", "EVENT", "TIMEOUT"}}
			for _, r := range rows {
				t.Add(textfmt.Cell{Text: r.AgentCLI}, textfmt.Cell{Text: r.Hook}, textfmt.Cell{Text: textfmt.FirstOf(r.Event, "loaded by the agent CLI")}, textfmt.Cell{Text: r.Timeout})
			}
			a.Print(t)
			return nil
		},
		ValidArgs: hooks.Names(),
	})
}

// hookRows returns the hooks of an agent CLI, or of all.
func hookRows(only string) []hookRow {
	var rows []hookRow
	for _, name := range hooks.Names() {
		if only != "" && only != name {
			continue
		}
		cli, _ := hooks.Lookup(name)
		if cli.Script != "" {
			rows = append(rows, hookRow{AgentCLI: name, Hook: cli.File})
		}
		for _, e := range cli.Events {
			rows = append(rows, hookRow{name, e.Name, fmt.Sprint(e.Means), e.Within().String()})
		}
	}
	return rows
}

// hookPlace is where hooks are installed for an agent CLI.
type hookPlace struct{ name, dir string }

func (p *hookPlace) on(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.name, "for", "", "the agent CLI's `profile`, instead of an agent: "+strings.Join(hooks.Names(), ", "))
	cmd.Flags().StringVar(&p.dir, "dir", "", "a `folder` of its own (required)")
	cmd.ValidArgs = hooks.Names()
}

// of completes the place by the command's argument: an agent of the city, or a profile.
func (p *hookPlace) of(a *app, cmd *cobra.Command, args []string) (Daemon, error) {
	daemon, err := a.daemon()
	if err != nil {
		return nil, err
	}
	switch {
	case len(args) > 0 && p.name != "":
		return nil, cmdenv.Usage(cmd, "give either an agent or --for")
	case len(args) > 0:
		if p.name, err = a.profileOf(cmd, daemon, args[0]); err != nil {
			return nil, err
		}
	case p.name == "":
		return nil, cmdenv.Usage(cmd, "missing the agent: an agent of the city, or --for with one of %s", strings.Join(hooks.Names(), ", "))
	}
	if p.dir == "" {
		return nil, cmdenv.Usage(cmd, "missing --dir FOLDER: where the hooks are")
	}
	if _, ok := hooks.Lookup(p.name); !ok {
		return nil, fmt.Errorf("%w: the hooks of %q; known are those of %s", client.ErrNotFound, p.name, strings.Join(hooks.Names(), ", "))
	}
	return daemon, nil
}

// profileOf returns the agent CLI that a name stands for: an agent's of the city, else its own.
func (a *app) profileOf(cmd *cobra.Command, daemon Daemon, name string) (string, error) {
	if _, ok := hooks.Lookup(name); ok {
		return name, nil
	}
	root, err := a.Root()
	if err != nil {
		return "", err
	}
	config, err := daemon.ShowConfig(cmd.Context(), root)
	if err != nil {
		return "", err
	}
	for _, v := range config.Values {
		if v.Key == "agents."+name+".provider" {
			return strconv.Unquote(v.Value)
		}
	}
	return "", fmt.Errorf("%w: neither an agent nor an agent CLI with hooks is called %q; known hooks are those of %s", client.ErrNotFound, name, strings.Join(hooks.Names(), ", "))
}

func hookInstallCommand(a *app) *cobra.Command {
	var place hookPlace
	cmd := &cobra.Command{
		Use:   "install [AGENT] --dir FOLDER",
		Short: "Install hooks into a directory",
		Long: `Writes the hooks into a directory of their own, and prints the variables and arguments with which the
agent CLI uses them. AGENT is an agent of the city or an agent CLI. Your own settings stay as they are.
Agents of a city do not need this.`,
		Example: "  gc hook install " + hooks.Names()[0] + " --dir ~/.cache/gc-hooks",
		Args:    cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := place.of(a, cmd, args)
			if err != nil {
				return err
			}
			launch, err := daemon.InstallHooks(place.name, a.Path(place.dir))
			if err == nil && a.JSON {
				return a.PrintJSON(map[string]string{"agent_cli": place.name, "directory": a.Path(place.dir), "command": launch})
			}
			if err == nil {
				fmt.Fprintln(a.Stdout, launch)
			}
			return err
		},
	}
	place.on(cmd)
	return a.AddJSONFlag(cmd)
}

func hookUninstallCommand(a *app) *cobra.Command {
	var place hookPlace
	cmd := &cobra.Command{
		Use:   "uninstall [AGENT] --dir FOLDER",
		Short: "Remove installed hooks",
		Args:  cmdenv.Between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := place.of(a, cmd, args)
			if err != nil {
				return err
			}
			if err := daemon.UninstallHooks(place.name, a.Path(place.dir)); err != nil || !a.JSON {
				return err
			}
			return a.PrintJSON(map[string]string{"agent_cli": place.name, "directory": a.Path(place.dir)})
		},
	}
	place.on(cmd)
	return a.AddJSONFlag(cmd)
}

// hookRunCommand is for the help alone: the program answers a hook before it looks at
// its commands.
func hookRunCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "run [--for PROFILE] [--within DURATION] EVENT",
		Short: "Run a hook (called by agent CLIs)",
		Long: `Reads the hook's input from standard input, reports it to the city, and for a tool asks whether it may
run. The exit status is 2, with a reason on standard error, if the tool must not run or the city cannot
be asked; agent CLIs take every other status as permission. A decision begins with "gc decides:", which
the calling script removes. The city is found by GC_WORKER_SOCKET (or GC_WORKER_URL), GC_WORKER_TOKEN
and GC_RUN_ID.`,
		Args:               cobra.ArbitraryArgs, // an event's, which the program has taken
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return cmd.Help()
			}
			return errors.New("this program was built without the part that answers hooks")
		},
	}
}
