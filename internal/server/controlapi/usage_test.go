package controlapi

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/client"
)

func TestUsageAndBudgets(t *testing.T) {
	n, cost := int64(12), 0.5
	want := client.Usage{
		By: "model", Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), At: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Prices: "2026-03-01",
		Groups: []client.UsageSum{{Group: "m", Responses: 2, Tokens: client.UsageTokens{Output: &n}, CostUSD: &cost, Unpriced: 1}},
	}
	budget := client.Budget{Name: "a day", Scope: "agent", Who: "worker", Measure: "usd", Used: 2, Limit: 1, Over: true}
	city := &countingCity{stubCity: &stubCity{Root: shortDir(t)}, usage: want, budget: budget}
	c := serveCity(t, city, city.Root, Options{})
	got, err := c.Usage(t.Context(), client.UsageRequest{By: "model", Since: want.Since})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usage (-want +got)\n%s", diff)
	}
	if _, err := c.Usage(t.Context(), client.UsageRequest{By: "mood"}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("an unknown grouping gives %v", err)
	}
	list, err := c.Budgets(t.Context())
	if diff := cmp.Diff([]client.Budget{budget}, list); err != nil || diff != "" {
		t.Errorf("budgets: %v (-want +got)\n%s", err, diff)
	}
	if done, err := c.LiftBudget(t.Context(), "a day", client.LiftRequest{Who: "worker"}); err != nil || !done.Changed {
		t.Errorf("lifted: %+v, %v", done, err)
	}
	if _, err := c.LiftBudget(t.Context(), "none", client.LiftRequest{}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown budget gives %v", err)
	}
}

// countingCity has a usage and a budget.
type countingCity struct {
	*stubCity
	usage  client.Usage
	budget client.Budget
}

func (c *countingCity) Usage(context.Context, client.UsageRequest) (client.Usage, error) {
	return c.usage, nil
}

func (c *countingCity) Budgets(context.Context) ([]client.Budget, error) {
	return []client.Budget{c.budget}, nil
}

func (c *countingCity) LiftBudget(_ context.Context, name string, req client.LiftRequest) (client.Done, error) {
	if name != c.budget.Name {
		return client.Done{}, client.ErrNotFound
	}
	return client.Done{Changed: req.Who == c.budget.Who}, nil
}

func (*countingCity) Metrics(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, "gc_up 1\n")
	return err
}

// TestMetricsNeedNoVersion checks that the metrics can be read without the header that other
// requests need, because a scraper does not send it.
func TestMetricsNeedNoVersion(t *testing.T) {
	city := &countingCity{stubCity: &stubCity{Root: shortDir(t)}}
	c := serveCity(t, city, city.Root, Options{})
	text, err := c.Metrics(t.Context())
	if err != nil || !strings.Contains(string(text), "gc_up 1\n") {
		t.Errorf("metrics: %q, %v", text, err)
	}
}
