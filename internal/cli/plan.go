package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

func planCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "plan [FILE]",
		Short: "Show what the controller would do, and why",
		Long: `Compares the active configuration with the running agents, and lists what the controller would do. With
a FILE it uses that configuration instead: check an edit before you save it as city.toml. Nothing is
changed. If the controller refused city.toml, the plan is that of the previous configuration, and the
exit status is 1.`,
		Example: "  gc plan\n  gc plan city.new.toml",
		Args:    cmdenv.Between(0, 1),
		RunE: a.CityAction(func(ctx context.Context, c *client.Client, args []string) error {
			plan, err := a.plan(ctx, c, args)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if err := a.refusedPlan(ctx, c); err != nil {
					return errors.Join(a.Show(plan, nil, func(s render.Formatter) string { return s.Plan(plan) }), err)
				}
			}
			return a.showPlan(ctx, c, plan)
		}),
	})
}

// showPlan prints a plan, or a message if there is nothing to do. It names the agents whose queued prompts become dead.
func (a *app) showPlan(ctx context.Context, c *client.Client, plan client.Plan) error {
	if !a.JSON { // messages are for people
		queue, _ := c.Queue(ctx, "", client.WithEnded) // the plan is complete without it
		for _, line := range lostPrompts(plan, queue) {
			a.warn(line)
		}
	}
	if a.Formatter().Plan(plan) == "" {
		return a.PrintResult(plan, nil, "nothing to do: the city matches its configuration")
	}
	return a.Show(plan, nil, func(s render.Formatter) string { return s.Plan(plan) })
}

// notConfigured is the beginning of the reason of an action for an agent that the configuration does not have any more.
const notConfigured = "it is not configured any more"

// lostPrompts returns messages for the agents that the configuration does not have any more: which of their prompts are dead
// because of that, and which will be when the configuration is used.
func lostPrompts(plan client.Plan, queue []client.Receipt) []string {
	var lines []string
	for _, action := range plan.Actions {
		if !strings.HasPrefix(action.Reason, notConfigured) {
			continue
		}
		waiting, dead := 0, 0
		for _, r := range queue {
			switch {
			case r.Agent != action.Agent:
			case !r.Ended():
				waiting++
			case r.State == client.ReceiptDead && r.Reason == "the agent is not configured any more":
				dead++
			}
		}
		name := textfmt.OneLine(action.Agent)
		rename := fmt.Sprintf("gc sees a rename if one agent of a definition gets another name in a save of %s", client.CityFile)
		if waiting > 0 {
			lines = append(lines, fmt.Sprintf("%s for %s will be dead, unless %s is renamed; %s", textfmt.Count(waiting, "prompt"), name, name, rename))
		}
		if dead > 0 {
			lines = append(lines, fmt.Sprintf("%s for %s became dead, because %s; %s; to see the text: gc queue --all", textfmt.Count(dead, "prompt"), name, notConfigured, rename))
		}
	}
	return lines
}

// refusedPlan returns an error if the controller has refused the current city.toml. It
// has printed that the plan is that of the previous configuration then.
func (a *app) refusedPlan(ctx context.Context, c *client.Client) error {
	status, err := c.Status(ctx)
	if err != nil || status.Plan.Error == "" {
		return err
	}
	return a.refusedConfiguration(ctx, c.Root, status.Plan.Error, "this is the plan of the previous configuration")
}

// plan returns the plan of the active configuration, or of the file in args.
func (a *app) plan(ctx context.Context, c *client.Client, args []string) (client.Plan, error) {
	if len(args) == 0 {
		return c.Plan(ctx)
	}
	path := a.Path(args[0])
	if err := cmdenv.Exists(path, args[0]); err != nil {
		return client.Plan{}, err
	}
	config, err := os.ReadFile(path)
	if err != nil {
		return client.Plan{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return c.Preview(ctx, client.PreviewRequest{Config: string(config), Path: path})
}
