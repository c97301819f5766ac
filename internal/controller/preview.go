package controller

import (
	"context"

	"gascity/client"
	"gascity/internal/controller/explain"
	"gascity/internal/domain/plan"
)

// Preview returns what would be done by another configuration of the city. It
// changes nothing. closed says of places why they cannot be opened; of one that the
// controller has asked itself, it knows better.
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
