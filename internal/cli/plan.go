package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"gascity/internal/text"
)

func planCommand(a *app) *cobra.Command {
	return a.listing(&cobra.Command{
		Use:   "plan",
		Short: "What the controller would do now, and why",
		Long:  `Compares the configuration in force with what runs. Nothing is changed.`,
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			defer c.Close()
			plan, err := c.Plan(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.document(plan)
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
				a.talk("nothing to do: the city is as its configuration says")
				return nil
			}
			a.print(t)
			return nil
		},
	})
}
