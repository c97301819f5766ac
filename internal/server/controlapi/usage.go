package controlapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"gascity/client"
)

// Spending is the extension of a City that knows what its agents spend. Without it
// usage and budgets are client.ErrUnsupported.
type Spending interface {
	// Usage returns what was spent, summed up.
	Usage(ctx context.Context, req client.UsageRequest) (client.Usage, error)
	// Budgets returns how much of each budget is used.
	Budgets(ctx context.Context) ([]client.Budget, error)
	// LiftBudget lets a budget begin again for one, or for all, who have used it up.
	LiftBudget(ctx context.Context, name string, req client.LiftRequest) (client.Done, error)
}

// MetricsSource is the extension of a City that can be measured. Without it metrics are
// client.ErrUnsupported.
type MetricsSource interface {
	// Metrics writes the metrics in the text format of Prometheus. Nothing in them is
	// secret.
	Metrics(ctx context.Context, w io.Writer) error
}

var errNoUsage = fmt.Errorf("%w: this city does not count what is spent", client.ErrUnsupported)

type usageInput struct {
	By    string    `query:"by" enum:"agent,model,day,tool" doc:"what is summed up; agent if it is not given"`
	Since time.Time `query:"since" doc:"nothing that is older"`
}

func spent(ctx context.Context, city City, in *usageInput) (*reply[client.Usage], error) {
	s, ok := city.(Spending)
	if !ok {
		return nil, errNoUsage
	}
	return answer(s.Usage(ctx, client.UsageRequest{By: in.By, Since: in.Since}))
}

func budgets(ctx context.Context, city City, _ *none) (*reply[[]client.Budget], error) {
	s, ok := city.(Spending)
	if !ok {
		return nil, errNoUsage
	}
	return rows(s.Budgets(ctx))
}

type liftInput struct {
	Name string `path:"name" doc:"the budget"`
	Body client.LiftRequest
}

func liftBudget(ctx context.Context, city City, in *liftInput) (*reply[client.Done], error) {
	s, ok := city.(Spending)
	if !ok {
		return nil, errNoUsage
	}
	return answer(s.LiftBudget(ctx, in.Name, in.Body))
}

// metricsType is the content type of the text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

func metrics(ctx context.Context, s *Server, w http.ResponseWriter, _ *http.Request) error {
	m, ok := s.city.(MetricsSource)
	if !ok {
		return fmt.Errorf("%w: this city is not measured", client.ErrUnsupported)
	}
	return m.Metrics(ctx, w)
}
