package controller

import (
	"context"

	"gascity/client"
	"gascity/internal/controller/account"
	"gascity/internal/plan"
)

// Preview returns what would be done by another configuration of the city. It
// changes nothing.
func (c *Controller) Preview(ctx context.Context, desired plan.Desired) (client.Plan, error) {
	return ask(ctx, c, func(l *loop, answer func(client.Plan, error)) {
		observed, policy := l.facts()
		answer(account.Plan(plan.Preview(desired, observed, l.now(), policy), l.now()), nil)
	})
}
