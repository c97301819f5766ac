package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
)

// watchEvery is the least time between two pictures of a watched status, and
// ageEvery how often its ages are told anew.
const (
	watchEvery = 200 * time.Millisecond
	ageEvery   = 2 * time.Second
)

func statusCommand(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "The city and its agents at a glance",
		Long: `Shows the controller, whether the configuration on disk is in force, and each agent: STATE is the
session's life, ACTIVITY what the agent is thought to do, UP how long it runs, OUTPUT when it last
printed something. With --watch the picture follows the city until it is interrupted.`,
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			defer c.Close()
			if watch {
				return a.watch(cmd.Context(), c)
			}
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.document(status)
			}
			fmt.Fprint(a.Stdout, a.statusText(status))
			return nil
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "follow the city; with --json one status a line")
	return a.listing(cmd)
}

// watch shows a new picture whenever something changes.
func (a *app) watch(parent context.Context, c *client.Client) error {
	ctx, cancel := context.WithCancel(parent)
	changed, stopped := a.changes(ctx, c)
	defer func() { cancel(); <-stopped }()
	for {
		status, err := c.Status(ctx)
		if parent.Err() != nil {
			return nil // to interrupt it is how a watch ends
		}
		if err != nil {
			return err
		}
		if err := a.showStatus(status); err != nil {
			return err
		}
		if !pauseFor(ctx, watchEvery, nil) || !pauseFor(ctx, ageEvery, changed) {
			return nil
		}
	}
}

// pauseFor waits for d or until early is ready; it is false if ctx ends first.
func pauseFor(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-early:
	case <-timer.C:
	}
	return true
}

func (a *app) showStatus(status client.Status) error {
	if a.json {
		return a.line(status)
	}
	text := a.statusText(status)
	if a.IsTerminal(a.Stdout) { // drawn over the former picture, so that it does not flicker
		text = "\x1b[H" + strings.ReplaceAll(text, "\n", "\x1b[K\n") + "\x1b[J"
	} else {
		text += "\n"
	}
	_, err := fmt.Fprint(a.Stdout, text)
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

func (a *app) statusText(status client.Status) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n", a.paint(bold, oneLine(status.City)), status.Root)
	fmt.Fprintln(&out, a.controllerLine(status.Controller))
	if status.Controller.Degraded != "" {
		fmt.Fprintf(&out, "%s %s\n", a.paint(red, "degraded, nothing is started or stopped:"), oneLine(status.Controller.Degraded))
	}
	if status.Plan.Error != "" {
		fmt.Fprintf(&out, "%s\n", a.paint(red, "the last change of the configuration was not taken, the former one is in force:"))
		fmt.Fprintf(&out, "  %s\n", strings.ReplaceAll(strings.TrimSpace(block(status.Plan.Error)), "\n", "\n  "))
	}
	if len(status.Agents) == 0 {
		fmt.Fprintf(&out, "\nno agents; add one to %s\n", client.CityFile)
		return out.String()
	}
	out.WriteByte('\n')
	out.WriteString(a.render(a.agentTable(status.Agents), a.columns()))
	return out.String()
}

func (a *app) controllerLine(c client.Controller) string {
	line := fmt.Sprintf("controller %s, process %d, started %s", oneLine(c.Version), c.PID, a.ago(c.StartedAt))
	if c.Stopping {
		line += ", " + a.paint(yellow, "stopping")
	}
	return line
}

func (a *app) agentTable(agents []client.Agent) *table {
	t := &table{heads: []string{"AGENT", "STATE", "ACTIVITY", "UP", "OUTPUT", "PID", "ATTACHED", "NOTE"}}
	for _, agent := range agents {
		up := ""
		if agent.State == client.StateRunning && !agent.StartedAt.IsZero() {
			up = span(a.Now().Sub(agent.StartedAt))
		}
		t.add(
			cell{text: agent.Name}, cell{agent.State, stateColor(agent.State)}, a.activity(agent), cell{text: up},
			cell{text: a.ago(agent.ActiveAt)}, number(agent.PID), number(agent.Attached), cell{a.note(agent), noteColor(agent)},
		)
	}
	return t
}

// activity is only said of what runs, and marked if it is a guess.
func (a *app) activity(agent client.Agent) cell {
	switch {
	case agent.State != client.StateRunning:
		return cell{}
	case agent.Activity == "waiting":
		return cell{agent.Activity, yellow}
	case agent.Activity == "unknown" || agent.Activity == "":
		return cell{"unknown", faint}
	}
	return cell{text: agent.Activity}
}

// number is empty for what is zero or cannot be told.
func number(n int) cell {
	if n <= 0 {
		return cell{}
	}
	return cell{text: fmt.Sprint(n)}
}

func stateColor(state string) color {
	switch state {
	case client.StateRunning:
		return green
	case client.StateFailed, client.StateQuarantined, client.StateLost:
		return red
	case client.StateStarting, client.StateStopping, client.StateUnknown:
		return yellow
	}
	return faint
}

func noteColor(agent client.Agent) color {
	if c := stateColor(agent.State); c == red {
		return red
	}
	return faint
}

// note is what a person should know beside the columns.
func (a *app) note(agent client.Agent) string {
	var parts []string
	if agent.Desired != agent.State && agent.Desired != client.StateRunning && agent.Desired != "" {
		parts = append(parts, "wanted: "+agent.Desired)
	}
	parts = append(parts, agent.Reason)
	if agent.State != client.StateRunning && agent.Exit != "" && !strings.Contains(agent.Reason, agent.Exit) {
		parts = append(parts, agent.Exit)
	}
	if next := agent.NextAt.Sub(a.Now()); !agent.NextAt.IsZero() && next > 0 {
		parts = append(parts, "again in "+span(next+time.Second-1))
	}
	if agent.Restarts > 0 {
		parts = append(parts, count(agent.Restarts, "restart"))
	}
	if len(agent.Drift) > 0 {
		parts = append(parts, "differs from its configuration: "+strings.Join(agent.Drift, ", "))
	}
	if agent.State == client.StateUnknown && !agent.ReadAt.IsZero() {
		parts = append(parts, "last seen "+a.ago(agent.ReadAt))
	}
	return joined(parts)
}

func joined(parts []string) string {
	var some []string
	for _, part := range parts {
		if part != "" {
			some = append(some, part)
		}
	}
	return strings.Join(some, "; ")
}
