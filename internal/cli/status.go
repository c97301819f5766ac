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
come first, then those with a problem. Columns without a value are left out:

  STATE     the state of the session: running, starting, asleep, suspended, failed, quarantined ...
  ACTIVITY  what the agent does: busy, idle, waiting ...; "likely" means that gc is not certain
  UP        how long it has been running
  OUTPUT    when it last printed something
  PENDING   how many questions it asks
  QUEUED    how many prompts wait for it
  SPENDS    tokens per minute and dollars per hour in the last ten minutes (≥ at least)
  BACKEND   the runtime provider, if not all agents run on the same one
  NOTE      what keeps it from working, and when gc tries again

With --watch the list is updated until you press Ctrl-C.`,
		Example: "  gc status\n  gc status -w\n  gc status --json",
		Args:    cmdenv.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.OnCity(func(c *client.Client) error {
				if watch {
					return a.Watch(cmd.Context(), c, func(ctx context.Context) error { return a.watchStatus(ctx, c) })
				}
				status, err := c.Status(cmd.Context())
				if err != nil {
					return err
				}
				return a.Show(status, func(s render.Formatter) string { return s.Status(status, openQuestions(cmd.Context(), c, status)) })
			})
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "watch for changes (with --json: one JSON document per line)")
	return a.AddJSONFlag(cmd)
}

// pageWithin bounds what gc without a command waits for the controller.
const pageWithin = 2 * time.Second

// cityPage returns the status of the present city, empty without one or without its controller.
func (a *app) cityPage(parent context.Context) string {
	ctx, cancel := context.WithTimeout(parent, pageWithin)
	defer cancel()
	var page string
	err := a.OnCity(func(c *client.Client) error {
		status, err := c.Status(ctx)
		if err == nil {
			page = a.Formatter().Status(status, openQuestions(ctx, c, status))
		}
		return err
	})
	if err != nil {
		return ""
	}
	return page
}

// openQuestions returns the questions that wait for a person. A failure leaves them out: the rows of
// their agents say that they wait.
func openQuestions(ctx context.Context, c *client.Client, status client.Status) []client.Pending {
	if !slices.ContainsFunc(status.Agents, func(agent client.Agent) bool { return agent.Pending > 0 }) {
		return nil
	}
	questions, err := c.Pending(ctx, "", client.OnlyOpen)
	if err != nil {
		return nil
	}
	return questions
}

func (a *app) watchStatus(ctx context.Context, c *client.Client) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSONLine(status)
	}
	s := a.Formatter()
	s.Rows = a.Rows()
	return a.PrintFrame(s.Status(status, openQuestions(ctx, c, status)))
}
