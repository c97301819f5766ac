package fakecity

import (
	"context"
	"fmt"
	"io"
	"slices"

	"gascity/client"
)

// SetUsage says what was spent and how much of the budgets is used.
func (c *City) SetUsage(u client.Usage, budgets ...client.Budget) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage, c.budgets = u, budgets
}

// Usage returns what was set, as it was asked for.
func (c *City) Usage(_ context.Context, req client.UsageRequest) (client.Usage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.usage
	u.By, u.Since = req.By, req.Since
	if u.By == "" {
		u.By = "agent"
	}
	u.Groups = append([]client.UsageSum{}, u.Groups...)
	return u, nil
}

// Budgets returns what was set.
func (c *City) Budgets(context.Context) ([]client.Budget, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.budgets), nil
}

// LiftBudget lets the budgets of that name begin again.
func (c *City) LiftBudget(_ context.Context, name string, req client.LiftRequest) (client.Done, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lifted, known := 0, false
	for i := range c.budgets {
		b := &c.budgets[i]
		known = known || b.Name == name
		if b.Name == name && b.Over && (req.Who == "" || req.Who == b.Who) {
			b.Over, b.Used = false, 0
			lifted++
		}
	}
	if !known {
		return client.Done{}, fmt.Errorf("%w: there is no budget %q", client.ErrNotFound, name)
	}
	return client.Done{Changed: lifted > 0, Detail: fmt.Sprintf("lifted for %d", lifted)}, nil
}

// Metrics writes one metric.
func (c *City) Metrics(_ context.Context, w io.Writer) error {
	_, err := fmt.Fprintln(w, "gc_up 1")
	return err
}
