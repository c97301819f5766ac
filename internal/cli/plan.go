package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/cli/desk"

	"gascity/internal/text"
)

func planCommand(a *app) *cobra.Command {
	return a.Listing(&cobra.Command{
		Use:   "plan",
		Short: "What the controller would do now, and why",
		Long:  `Compares the configuration in force with what runs. Nothing is changed.`,
		Args:  desk.Between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			defer c.Close()
			plan, err := c.Plan(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.Document(plan)
			}
			t := &text.Table{Heads: []string{"DO", "AGENT", "SESSION", "IN", "WHY"}}
			for _, action := range plan.Actions {
				if action.Verb == "none" {
					continue
				}
				why := text.Join(action.Reason, strings.Join(action.Fields, ", "))
				t.Add(text.Painted(action.Verb, text.Cyan), text.Cell{Text: action.Agent}, text.Cell{Text: action.Session}, text.Cell{Text: text.In(a.Now(), action.After)}, text.Cell{Text: why})
			}
			if len(t.Rows) == 0 {
				a.Talk("nothing to do: the city is as its configuration says")
				return nil
			}
			a.Print(t)
			return nil
		},
	})
}
