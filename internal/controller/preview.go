package controller

import (
	"context"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/domain/plan"
)

// Preview returns the actions that another configuration would cause. It changes nothing. closed
// maps the provider selections that cannot be opened to the reason. The controller ignores closed
// for a provider that it has opened or tried to open itself.
func (c *Controller) Preview(ctx context.Context, desired plan.Desired, closed map[string]string) (client.Plan, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Plan, error)) {
		observed, policy := l.facts()
		for selection, why := range closed {
			if l.backends[selection] == nil {
				policy.Closed[selection] = why
			}
		}
		answer(explain.Plan(plan.Preview(desired, observed, l.now(), policy), l.now()), nil)
	})
}
