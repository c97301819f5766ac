package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/text"
)

func sessionCommand(a *app) *cobra.Command {
	return desk.Group("session", "Sessions: list, show, kill", `A session is the place where an agent runs. Wherever an agent is named, the session's name does too.`,
		sessionListCommand(a), sessionShowCommand(a), sessionKillCommand(a))
}

func sessionListCommand(a *app) *cobra.Command {
	return a.Listing(&cobra.Command{
		Use:   "list",
		Short: "Every session, with its provider and instance",
		Args:  desk.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			defer c.Close()
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.Document(status.Agents)
			}
			t := &text.Table{Heads: []string{"SESSION", "AGENT", "PROVIDER", "STATE", "PID", "STARTED", "INSTANCE"}}
			for _, s := range status.Agents {
				t.Add(text.Cell{Text: s.Session}, text.Cell{Text: s.Name}, text.Cell{Text: s.Provider}, text.Painted(s.State, stateColor(s.State)),
					number(s.PID), text.Cell{Text: text.Ago(a.Now(), s.StartedAt)}, text.Painted(s.Instance, text.Faint))
			}
			if len(t.Rows) == 0 {
				a.Talk("no sessions")
				return nil
			}
			a.Print(t)
			return nil
		},
	})
}

func sessionShowCommand(a *app) *cobra.Command {
	return a.Listing(&cobra.Command{
		Use:   "show AGENT",
		Short: "Everything that is known of one session",
		Args:  desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				s, err := c.Session(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Document(s)
				}
				a.printSession(s)
				return nil
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	})
}

func (a *app) printSession(s client.Session) {
	facts := &text.Table{Heads: []string{"", ""}, Rows: a.sessionFacts(s)}
	fmt.Fprint(a.Stdout, facts.Render(a.Painter, 0)) // a long fact is wrapped by the terminal
	if len(s.Processes) > 0 {
		fmt.Fprintln(a.Stdout, a.Paint(text.Faint, "\nprocesses"))
		a.Print(a.processTable(s.Processes))
	}
	if s.LastScreen != "" {
		fmt.Fprintln(a.Stdout, a.Paint(text.Faint, "\nlast screen"))
		a.PrintText(s.LastScreen)
	}
}

// sessionFacts is a table of two columns without empty values. A value of
// several lines has several rows.
func (a *app) sessionFacts(s client.Session) [][]text.Cell {
	var rows [][]text.Cell
	add := func(name, value string, c text.Color) {
		for line := range strings.Lines(strings.TrimSpace(value)) {
			rows = append(rows, []text.Cell{text.Painted(name, text.Faint), text.Painted(text.OneLine(line), c)})
			name = ""
		}
	}
	add("agent", s.Name, text.Bold)
	add("session", s.Session, text.Plain)
	add("provider", s.Provider, text.Plain)
	add("wanted", s.Desired, text.Plain)
	add("state", s.State, stateColor(s.State))
	add("activity", s.Activity.State+sourceOf(s.Agent), text.Plain)
	add("reason", s.Reason, text.Plain)
	add("exit", s.Exit, text.Plain)
	add("title", s.Title, text.Plain)
	add("command", s.Command, text.Plain)
	add("work folder", s.WorkDir, text.Plain)
	add("process", number(s.PID).Text, text.Plain)
	add("attached", attachedText(s.Attached), text.Plain)
	add("started", a.when(s.StartedAt), text.Plain)
	add("last output", a.when(s.ActiveAt), text.Plain)
	add("next try", clock(s.NextAt), text.Plain)
	add("restarts", number(s.Restarts).Text, text.Plain)
	add("instance", s.Instance, text.Plain)
	add("differs in", strings.Join(s.Drift, ", "), text.Yellow)
	for _, key := range slices.Sorted(maps.Keys(s.Meta)) {
		add("meta "+key, s.Meta[key], text.Plain)
	}
	for _, part := range slices.Sorted(maps.Keys(s.Fingerprints)) {
		add("fingerprint "+part, s.Fingerprints[part], text.Faint)
	}
	add("observed", a.when(s.ReadAt), text.Plain)
	return rows
}

func sourceOf(agent client.Agent) string {
	if agent.Activity.Source == "" || agent.Activity.State == "" {
		return ""
	}
	return " (from " + agent.Activity.Source + ")"
}

func attachedText(n int) string {
	switch {
	case n < 0:
		return "the provider cannot tell"
	case n == 0:
		return ""
	}
	return text.Count(n, "terminal")
}

// clock tells a moment of the local day.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func (a *app) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return clock(t) + ", " + text.Ago(a.Now(), t)
}

// processTable indents each process below its parent.
func (a *app) processTable(processes []client.Process) *text.Table {
	depth := map[int]int{}
	t := &text.Table{Heads: []string{"PID", "STATE", "COMMAND"}}
	for _, p := range processes {
		if above, ok := depth[p.PPID]; ok {
			depth[p.PID] = above + 1
		} else {
			depth[p.PID] = 0
		}
		command := p.Command
		if d := depth[p.PID]; d > 0 {
			command = strings.Repeat("  ", d-1) + "└ " + command
		}
		t.Add(number(p.PID), text.Cell{Text: p.State}, text.Cell{Text: command})
	}
	return t
}

func sessionKillCommand(a *app) *cobra.Command {
	return a.Listing(&cobra.Command{
		Use:   "kill AGENT",
		Short: "End an agent's incarnation, every process of it",
		Long:  `The controller starts the next incarnation if the agent is still wanted.`,
		Args:  desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				result, err := c.Kill(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.tellKill(args[0], result)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	})
}

func (a *app) tellKill(name string, r client.StopResult) error {
	if a.JSON {
		if err := a.Document(r); err != nil {
			return err
		}
	}
	if r.Error != "" || len(r.Survivors) > 0 {
		a.Talk("gc: %s is not ended: %s", name, stopFailure(r))
		return desk.Said(desk.Failed)
	}
	if !a.JSON {
		a.Talk("ended %s: %s in %.1fs", name, text.Count(r.Processes, "process"), r.Seconds)
	}
	return nil
}

// exists refuses a source that is not there, named as the user named it.
func exists(path, as string) error {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no file or folder %s", client.ErrNotFound, as)
	}
	return err
}
