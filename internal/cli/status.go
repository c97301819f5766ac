package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
)

func statusCommand(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:     "status",
		Aliases: []string{"ps", "ls"},
		Short:   "List the agents and what they do",
		Long: `Shows the questions that wait for your answer, problems, and a row for each agent. Agents that need you
come first, then agents with a problem. Empty columns are left out:

  STATE     the state of the session: running, starting, asleep, suspended, failed, quarantined ...
  ACTIVITY  what the agent does: busy, idle, waiting ...; "likely" means that gc is not certain
  UP        how long it has been running
  OUTPUT    when it last printed something
  PENDING   how many of its questions wait for your answer
  QUEUED    how many prompts wait for it
  SPENDS    tokens per minute and dollars per hour in the last ten minutes (≥ means at least)
  BACKEND   the runtime provider, if not all agents run on the same one
  NOTE      why it does not work, why its prompt waits, and when gc tries again

With --watch the list is updated when it changes, until you press Ctrl-C, also after a restart of the
controller. If no controller runs, the exit status is 6.`,
		Example: "  gc status\n  gc status -w\n  gc status --json",
		RunE: a.CityAction(func(ctx context.Context, c *client.Client, _ []string) error {
			if watch {
				return a.watchStatus(ctx, c)
			}
			status, err := c.Status(ctx)
			return a.Show(status, err, func(s render.Formatter) string { return newStatusPage(ctx, c, status).text(s) })
		}),
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "watch for changes (with --json: one JSON document per line)")
	return a.AddJSONFlag(cmd)
}

// pageWithin is how long gc without a command waits for the controller.
const pageWithin = 2 * time.Second

// cityPage returns the status page of the current city. It is empty outside of a city, or if no controller
// answers.
func (a *app) cityPage(parent context.Context) string {
	ctx, cancel := context.WithTimeout(parent, pageWithin)
	defer cancel()
	var page string
	err := a.OnCity(func(c *client.Client) error {
		status, err := c.Status(ctx)
		if err == nil {
			page = newStatusPage(ctx, c, status).text(a.Formatter())
		}
		return err
	})
	if err != nil {
		return ""
	}
	return page
}

// statusPage is what gc status shows.
type statusPage struct {
	status    client.Status
	questions []client.Pending // that wait for a person
	prompts   []client.Receipt // that wait
}

// newStatusPage returns the page of a status. If the questions or the prompts cannot be read, they are left out; the rows of the agents
// still show how many there are.
func newStatusPage(ctx context.Context, c *client.Client, status client.Status) statusPage {
	p := statusPage{status: status}
	if slices.ContainsFunc(status.Agents, func(agent client.Agent) bool { return agent.Pending > 0 }) {
		p.questions, _ = c.Pending(ctx, "", client.OnlyOpen)
	}
	if slices.ContainsFunc(status.Agents, func(agent client.Agent) bool { return agent.Queued > 0 }) {
		p.prompts, _ = c.Queue(ctx, "", client.OnlyOpen)
	}
	return p
}

// text returns the page as text.
func (p statusPage) text(s render.Formatter) string {
	return s.Status(p.status, p.questions, p.prompts)
}

// watchStatus shows the status until ctx ends.
func (a *app) watchStatus(ctx context.Context, c *client.Client) error {
	live := cmdenv.Live[statusPage]{
		Follow: func(ctx context.Context, update func(statusPage)) error {
			for status, err := range c.WatchStatus(ctx) {
				if err != nil {
					return err
				}
				update(newStatusPage(ctx, c, status))
			}
			return nil
		},
		Page: func(f render.Formatter, p statusPage) string { return p.text(f) },
	}
	if a.JSON {
		live.Print = cmdenv.OnChange(
			func(p statusPage) any { return p.status.WithoutReadTimes() },
			func(p statusPage) error { return a.PrintJSONLine(p.status) },
		)
	}
	return live.Run(ctx, &a.Base)
}
