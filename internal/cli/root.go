package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gascity/client"
	"gascity/internal/text"
)

// app is one run of the program.
type app struct {
	Env

	city         string // --city
	json         bool   // --json
	text.Painter        // for standard output
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
6 no controller.`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "gc",
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
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&a.city, "city", "", "the city's `folder` (default: the nearest one with a city.toml, here or above)")
	root.SetHelpCommandGroupID(topicMachine)
	root.AddGroup(
		&cobra.Group{ID: topicCity, Title: "The city:"},
		&cobra.Group{ID: topicAgent, Title: "Its agents:"},
		&cobra.Group{ID: topicConfig, Title: "Its configuration:"},
		&cobra.Group{ID: topicMachine, Title: "This machine and this program:"},
	)
	root.AddCommand(
		topic(topicCity, initCommand(a), startCommand(a), stopCommand(a), restartCommand(a), statusCommand(a), planCommand(a), eventsCommand(a), controllerCommand(a))...)
	root.AddCommand(
		topic(topicAgent, attachCommand(a), nudgeCommand(a), peekCommand(a), logsCommand(a), interruptCommand(a), keysCommand(a), copyCommand(a), sessionCommand(a), primeCommand(a))...)
	root.AddCommand(topic(topicConfig, configCommand(a))...)
	root.AddCommand(topic(topicMachine, doctorCommand(a), providerCommand(a), versionCommand(a), completionCommand(a))...)
	root.AddCommand(shimCommand(a), docsCommand(a))
	return root
}

func topic(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.GroupID = id
	}
	return commands
}

// group makes a command that only holds others.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return usage(cmd, "%s wants a command: %s", cmd.CommandPath(), text.List(commandNames(cmd)))
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

func unknownCommand(cmd *cobra.Command, name string) error {
	return usage(cmd, "%s has no command %q%s", cmd.CommandPath(), name, didYouMean(name, commandNames(cmd)))
}

// flagError says which flag is wrong and which one may be meant.
func flagError(cmd *cobra.Command, err error) error {
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usage(cmd, "%s: %v", cmd.CommandPath(), err)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	name := missing.GetSpecifiedName()
	if len(name) == 1 {
		return usage(cmd, "%s has no flag -%s", cmd.CommandPath(), name)
	}
	return usage(cmd, "%s has no flag --%s%s", cmd.CommandPath(), name, didYouMean("--"+name, known))
}

// between demands a number of arguments; below zero is any number.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, "too few arguments, want: %s", cmd.UseLine())
		case most >= 0 && len(args) > most:
			return usage(cmd, "too many arguments after %q, want: %s", args[max(most, 1)-1], cmd.UseLine())
		}
		return nil
	}
}

// root returns the city that the command is about: --city, else the one around
// the current folder, else the one that an agent finds in its environment.
func (a *app) root() (string, error) {
	if a.city != "" {
		dir := a.path(a.city)
		root, err := client.FindCity(dir)
		if err == nil && !sameFolder(root, dir) {
			err = fmt.Errorf("%w: %s has no %s; the city around it is %s", client.ErrNotFound, a.city, client.CityFile, root)
		}
		if err != nil {
			return governed(dir, err)
		}
		return root, nil
	}
	root, err := client.FindCity(a.Dir)
	if err == nil {
		return root, nil
	}
	if given := a.Getenv("GC_CITY_PATH"); given != "" {
		return client.FindCity(given)
	}
	return governed(a.Dir, err)
}

// governed returns dir in place of err if a controller works there: a city that
// has lost its city.toml can still be looked at and stopped.
func governed(dir string, err error) (string, error) {
	real, realErr := filepath.EvalSymlinks(dir)
	if realErr != nil || !errors.Is(err, client.ErrNotFound) {
		return "", err
	}
	if info, statErr := os.Lstat(client.SocketPath(real)); statErr != nil || info.Mode().Type() != fs.ModeSocket {
		return "", err
	}
	return real, nil
}

func sameFolder(root, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == root
}

// path makes an argument absolute.
func (a *app) path(arg string) string {
	if filepath.IsAbs(arg) {
		return filepath.Clean(arg)
	}
	return filepath.Join(a.Dir, arg)
}

// client returns a client of the city's controller.
func (a *app) client() (*client.Client, error) {
	root, err := a.root()
	if err != nil {
		return nil, err
	}
	return a.clientOf(root), nil
}

// patience is how long a controller may take to answer a question.
const patience = 10 * time.Second

func (a *app) clientOf(root string) *client.Client {
	return &client.Client{Root: root, Version: a.Version, Patience: patience, OnSkew: func(ours, theirs string) {
		a.talk("gc: this is version %s but the controller is %s; hand over with: gc controller stop && gc start (agents go on)", ours, theirs)
	}}
}

// daemon returns the assembly.
func (a *app) daemon() (Daemon, error) {
	if a.Daemon == nil {
		return nil, errors.New("this program was built without the daemon")
	}
	return a.Daemon, nil
}

// listing adds --json to a command.
func (a *app) listing(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return cmd
}

// onTarget runs a verb on the agent or session that an argument names. A name
// that the controller does not know is followed by what may be meant.
func (a *app) onTarget(ctx context.Context, name string, verb func(*client.Client) error) error {
	if name == "" {
		return fmt.Errorf("%w: an agent's name is empty; gc status lists them", client.ErrInvalid)
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	defer c.Close()
	err = verb(c)
	if errors.Is(err, client.ErrNotFound) {
		return a.suggestAgent(ctx, c, name, err)
	}
	return err
}
