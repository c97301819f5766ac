package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
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
			t := &table{heads: []string{"DO", "AGENT", "SESSION", "IN", "WHY"}}
			for _, action := range plan.Actions {
				if action.Verb == "none" {
					continue
				}
				in := ""
				if d := action.After.Sub(a.Now()); !action.After.IsZero() && d > 0 {
					in = span(d + time.Second - 1)
				}
				why := joined([]string{action.Reason, strings.Join(action.Fields, ", ")})
				t.add(cell{action.Verb, cyan}, cell{text: action.Agent}, cell{text: action.Session}, cell{text: in}, cell{text: why})
			}
			if len(t.rows) == 0 {
				a.talk("nothing to do: the city is as its configuration says")
				return nil
			}
			a.print(t)
			return nil
		},
	})
}
