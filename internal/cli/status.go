package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/text"
)

func statusCommand(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "The city and its agents at a glance",
		Long: `Shows the controller, whether the configuration on disk is in force, and each agent: STATE is the
session's life, ACTIVITY what the agent is thought to do, UP how long it runs, OUTPUT when it last
printed something. With --watch the picture follows the city until it is interrupted.`,
		Args: desk.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.OnCity(func(c *client.Client) error {
				if watch {
					return a.Watch(cmd.Context(), c, func(ctx context.Context) error { return a.watchStatus(ctx, c) })
				}
				status, err := c.Status(cmd.Context())
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Document(status)
				}
				fmt.Fprint(a.Stdout, a.statusText(status))
				return nil
			})
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "follow the city; with --json one status a line")
	return a.Listing(cmd)
}

func (a *app) watchStatus(ctx context.Context, c *client.Client) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Line(status)
	}
	return a.Picture(a.statusText(status))
}

func (a *app) statusText(status client.Status) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n", a.Paint(text.Bold, text.OneLine(status.City)), status.Root)
	fmt.Fprintln(&out, a.controllerLine(status.Controller))
	if status.Controller.Degraded != "" {
		fmt.Fprintf(&out, "%s %s\n", a.Paint(text.Red, "degraded, nothing is started or stopped:"), text.OneLine(status.Controller.Degraded))
	}
	if status.Plan.Error != "" {
		fmt.Fprintf(&out, "%s\n", a.Paint(text.Red, "the last change of the configuration was not taken, the former one is in force:"))
		fmt.Fprintln(&out, text.Indent(status.Plan.Error, quoteIndent))
	}
	if len(status.Agents) == 0 {
		fmt.Fprintf(&out, "\nno agents; add one to %s\n", client.CityFile)
		return out.String()
	}
	out.WriteByte('\n')
	out.WriteString(a.agentTable(status.Agents).Render(a.Painter, a.Columns()))
	return out.String()
}

func (a *app) controllerLine(c client.Controller) string {
	line := fmt.Sprintf("controller %s, process %d, started %s", text.OneLine(c.Version), c.PID, text.Ago(a.Now(), c.StartedAt))
	if c.Stopping {
		line += ", " + a.Paint(text.Yellow, "stopping")
	}
	return line
}

func (a *app) agentTable(agents []client.Agent) *text.Table {
	t := &text.Table{Heads: []string{"AGENT", "STATE", "ACTIVITY", "UP", "OUTPUT", "PID", "ATTACHED", "NOTE"}}
	for _, agent := range agents {
		up := ""
		if agent.State == client.StateRunning && !agent.StartedAt.IsZero() {
			up = text.Span(a.Now().Sub(agent.StartedAt))
		}
		t.Add(
			text.Cell{Text: agent.Name}, text.Painted(agent.State, stateColor(agent.State)), a.activity(agent), text.Cell{Text: up},
			text.Cell{Text: text.Ago(a.Now(), agent.ActiveAt)}, number(agent.PID), number(agent.Attached), text.Painted(a.note(agent), noteColor(agent)),
		)
	}
	return t
}

// activity is only said of what runs, and marked if it is a guess.
func (a *app) activity(agent client.Agent) text.Cell {
	switch {
	case agent.State != client.StateRunning:
		return text.Cell{}
	case agent.Activity.State == "waiting":
		return text.Painted(agent.Activity.State, text.Yellow)
	case agent.Activity.State == "unknown" || agent.Activity.State == "":
		return text.Painted("unknown", text.Faint)
	}
	return text.Cell{Text: agent.Activity.State}
}

// number is empty for what is zero or cannot be told.
func number(n int) text.Cell {
	if n <= 0 {
		return text.Cell{}
	}
	return text.Cell{Text: fmt.Sprint(n)}
}

func stateColor(state string) text.Color {
	switch state {
	case client.StateRunning:
		return text.Green
	case client.StateFailed, client.StateQuarantined, client.StateLost:
		return text.Red
	case client.StateStarting, client.StateStopping, client.StateUnknown:
		return text.Yellow
	}
	return text.Faint
}

func noteColor(agent client.Agent) text.Color {
	if c := stateColor(agent.State); c == text.Red {
		return text.Red
	}
	return text.Faint
}

// note is what a person should know beside the columns.
func (a *app) note(agent client.Agent) string {
	var parts []string
	if agent.Desired != agent.State && agent.Desired != client.StateRunning && agent.Desired != "" {
		parts = append(parts, "wanted: "+agent.Desired)
	}
	parts = append(parts, firstLine(agent.Reason))
	if agent.State != client.StateRunning && agent.Exit != "" && !strings.Contains(agent.Reason, agent.Exit) {
		parts = append(parts, firstLine(agent.Exit))
	}
	if next := text.In(a.Now(), agent.NextAt); next != "" {
		parts = append(parts, "again in "+next)
	}
	if agent.Restarts > 0 {
		parts = append(parts, text.Count(agent.Restarts, "restart"))
	}
	if len(agent.Drift) > 0 {
		parts = append(parts, "differs from its configuration: "+strings.Join(agent.Drift, ", "))
	}
	if agent.State == client.StateUnknown && !agent.ReadAt.IsZero() {
		parts = append(parts, "last seen "+text.Ago(a.Now(), agent.ReadAt))
	}
	return text.Join(parts...)
}

// firstLine shortens what has more lines; gc session show has them all.
func firstLine(s string) string {
	first, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more {
		return strings.TrimSpace(first) + " …"
	}
	return first
}
