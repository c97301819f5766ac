package controller

import (
	"context"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/domain/plan"
)

// Preview returns the actions that gc would take if desired were the configuration. It changes
// nothing. closed maps the runtime providers that cannot be opened to the reason; an entry is
// ignored if the controller uses that provider, because it knows the provider's state itself.
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
