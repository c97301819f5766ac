package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/tui"
	"gascity/runtime"
)

func topCommand(a *app) *cobra.Command {
	var lines bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show and control all agents in a live dashboard",
		Long: `Shows a list of the agents, those that need you first, and the live screen of the selected one. The last
line lists the keys that have an effect now; press ? for all of them. Enter attaches to the agent, and
the last line names the key that returns to the dashboard. No single key stops, restarts or interrupts
an agent, and agents keep running when you quit. If the controller restarts, the dashboard waits for it.

In a terminal inside a city, gc without a command does the same, unless city.toml has start = false
in its section [top], or GC_TOP=off is set.
With --plain it prints a line for each change, for screen readers. Without a terminal and without
--plain the exit status is 4.`,
		Example: "  gc top\n  gc top --plain",
		RunE: a.CityAction(func(ctx context.Context, c *client.Client, _ []string) error {
			c.OnSkew = nil // a message would be drawn over the dashboard
			if lines {
				if _, err := c.Status(ctx); err != nil {
					return err
				}
				return tui.Lines(ctx, c, a.Now, a.Stdout)
			}
			return a.top(ctx, c)
		}),
	}
	cmd.Flags().BoolVar(&lines, "plain", false, "print a line for each change instead of drawing the screen")
	return cmd
}

// topByDefault reports whether gc without a command may show the dashboard: in a terminal, unless GC_TOP is "off". An
// agent that runs gc gets the page.
func (a *app) topByDefault() bool {
	return a.Getenv("GC_TOP") != "off" && a.Getenv("GC_AGENT") == "" && a.Getenv("TERM") != "dumb" && a.IsTerminal(a.Stdin) && a.IsTerminal(a.Stdout)
}

// topCity returns a client of the current city if gc without a command shows its dashboard: its controller answers, and
// city.toml does not say start = false. Otherwise it returns nil. The caller closes the client.
func (a *app) topCity(parent context.Context) *client.Client {
	c, err := a.Client()
	if err != nil {
		return nil
	}
	c.OnSkew = nil // a message would be drawn over the dashboard
	ctx, cancel := context.WithTimeout(parent, pageWithin)
	defer cancel()
	city, err := c.Config(ctx)
	if err != nil || slices.ContainsFunc(city.Values, func(v client.ConfigValue) bool { return v.Key == "top.start" && v.Value == "false" }) {
		c.Close()
		return nil
	}
	return c
}

// top shows the dashboard of a city.
func (a *app) top(ctx context.Context, c *client.Client) error {
	terminal, ok := a.Stdin.(*os.File)
	if !ok || !a.IsTerminal(a.Stdin) || !a.IsTerminal(a.Stdout) {
		return fmt.Errorf("%w: gc top needs a terminal; without one use: gc top --plain, or gc status", client.ErrRefused)
	}
	if a.Getenv("TERM") == "dumb" {
		return fmt.Errorf("%w: gc top cannot draw in a terminal with TERM=dumb; use: gc top --plain, or gc status", client.ErrRefused)
	}
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	outer := a.outerTmux(ctx)
	keys := topDetachKeys(detachKeys(a.Getenv("GC_DETACH_KEYS")), outer)
	return tui.Run(ctx, tui.Options{
		City: c, First: &status, Terminal: terminal, Out: cmdenv.Raw(a.Stdout), Now: a.Now, Colors: a.terminalColors(), By: "gc top",
		Detach: func(agent client.Agent) string { return detachNames(agent, keys, outer) },
		Size:   func() (int, int) { return a.Width(), a.Height() },
		Start: func(ctx context.Context, agent client.Agent) (client.Done, error) {
			agent, err := agentOf(ctx, c, agent.Name) // its state may have changed since it was drawn
			if err != nil {
				return client.Done{}, err
			}
			return startAgent(ctx, c, agent)
		},
		Attach:  func(ctx context.Context, name string) error { return a.attachFromTop(ctx, c, name, keys) },
		Suspend: a.Suspend,
		Edit:    a.editText,
		EditCity: func(ctx context.Context) error {
			return a.openEditor(ctx, filepath.Join(c.Root, client.CityFile))
		},
		Command: func(ctx context.Context, args []string, out io.Writer, cols int) {
			a.captured(ctx, c.Root, args, out, cols)
		},
		Complete: func(ctx context.Context, args []string) []string { return a.completions(ctx, c.Root, args) },
	})
}

// terminalColors returns how many colors the terminal shows.
func (a *app) terminalColors() tui.Colors {
	name := a.Getenv("TERM")
	switch {
	case !a.On:
		return tui.NoColors
	case a.Getenv("COLORTERM") == "truecolor", a.Getenv("COLORTERM") == "24bit", strings.Contains(name, "direct"):
		return tui.TrueColors
	case strings.Contains(name, "256color"):
		return tui.Colors256
	}
	return tui.Colors16
}

// topDetachKeys returns the keys that detach from an agent, so that the dashboard is shown again: those of GC_DETACH_KEYS, else Ctrl-q and those of gc attach that the
// tmux around this terminal does not use.
func topDetachKeys(configured []string, outer outerTmux) []string {
	if len(configured) > 0 {
		return configured
	}
	if outer.takes(topDetachKey) {
		return outer.usable()
	}
	return append([]string{topDetachKey}, outer.defaults()...)
}

// topDetachKey comes back from an agent to the dashboard, besides the keys of gc attach.
const topDetachKey = "C-q"

// detachNames returns for people the keys that detach from an agent; empty if its runtime provider decides that. keys are those of
// providers with configurable keys.
func detachNames(a client.Agent, keys []string, outer outerTmux) string {
	switch kind, _, _ := strings.Cut(a.Provider, ":"); kind {
	case "tmux":
		return outer.throughOuter()
	case "exec": // the script decides
		return ""
	}
	return runtime.KeyNames(keys)
}

// attachFromTop attaches to an agent. If its runtime provider has its own detach keys, they apply. It prints no keys: the footer of the
// dashboard has shown them, and what is printed here remains in the terminal when the dashboard has ended.
func (a *app) attachFromTop(ctx context.Context, c *client.Client, name string, keys []string) error {
	defer cmdenv.DisableLineMode(a.Stdin)() // a detach key that is pressed before the agent's screen is here detaches, too
	return a.attach(ctx, c, name, runtime.AttachOptions{DetachKeys: keys}, connectQuietly)
}

// connectQuietly attaches to a session, and prints nothing before.
func connectQuietly(ctx context.Context, p runtime.Provider, session string, opts runtime.AttachOptions) error {
	err := runtime.AttachTerminal(ctx, p, session, opts)
	if errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, runtime.ErrAttachUnsupported) {
		opts.DetachKeys = nil
		err = runtime.AttachTerminal(ctx, p, session, opts)
	}
	return err
}

// captured runs a command line in this process. What it prints goes to out, with colors; it reads nothing.
func (a *app) captured(ctx context.Context, root string, args []string, out io.Writer, cols int) {
	env := a.Env
	env.Stdout, env.Stderr = out, out
	env.IsTerminal = func(stream any) bool { return stream == any(out) }
	env.Width, env.Height = func() int { return cols }, nil
	a.runAgain(ctx, env, append([]string{"--city", root}, args...))
}

// runAgain runs a command line in this process with another environment. It reads nothing.
func (a *app) runAgain(ctx context.Context, env cmdenv.Env, args []string) {
	env.Stdin = strings.NewReader("")
	Run(ctx, Env{Env: env, Args: args, Executable: a.executable, Daemon: a.daemon, Workers: a.workers})
}

// completions returns the words that the shell completion offers for the last argument.
func (a *app) completions(ctx context.Context, root string, args []string) []string {
	var out bytes.Buffer
	env := a.Env
	env.Stdout, env.Stderr = &out, io.Discard
	env.IsTerminal = func(any) bool { return false }
	a.runAgain(ctx, env, append([]string{"__complete", "--city", root}, args...))
	var words []string
	for line := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if strings.HasPrefix(word, ":") { // the directive, which ends the list
			break
		}
		words = append(words, word)
	}
	return words
}
