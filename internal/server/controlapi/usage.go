package controlapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"gascity/client"
)

// Spending is an optional extension of City: it reports usage and budgets. Without it, these
// requests are client.ErrUnsupported.
type Spending interface {
	// Usage returns the usage, in groups.
	Usage(ctx context.Context, req client.UsageRequest) (client.Usage, error)
	// Budgets returns how much of each budget is used.
	Budgets(ctx context.Context) ([]client.Budget, error)
	// LiftBudget resets a budget that is used up, for req.Who, or for everyone if req.Who is empty.
	LiftBudget(ctx context.Context, name string, req client.LiftRequest) (client.Done, error)
}

// MetricsSource is an optional extension of City: it reports metrics. Without it, metrics are
// client.ErrUnsupported.
type MetricsSource interface {
	// Metrics writes the metrics in the text format of Prometheus. They contain no secrets.
	Metrics(ctx context.Context, w io.Writer) error
}

var errNoUsage = fmt.Errorf("%w: this city does not record usage", client.ErrUnsupported)

type usageInput struct {
	By     string    `query:"by" enum:"agent,model,hour,day,tool" doc:"how usage is grouped; default: agent"`
	Since  time.Time `query:"since" doc:"only usage from then on"`
	Target string    `query:"target" maxLength:"1024" doc:"only usage of the agent or session of this name"`
}

// spent returns the usage, in groups.
func spent(ctx context.Context, city City, in *usageInput) (*reply[client.Usage], error) {
	s, ok := city.(Spending)
	if !ok {
		return nil, errNoUsage
	}
	return answer(s.Usage(ctx, client.UsageRequest{By: in.By, Since: in.Since, Target: in.Target}))
}

// budgets returns how much of each budget is used.
func budgets(ctx context.Context, city City, _ *none) (*reply[[]client.Budget], error) {
	s, ok := city.(Spending)
	if !ok {
		return nil, errNoUsage
	}
	return rows(s.Budgets(ctx))
}

type liftInput struct {
	Name string `path:"name" doc:"the name of the budget"`
	Body client.LiftRequest
}

// liftBudget resets a budget that is used up.
func liftBudget(ctx context.Context, city City, in *liftInput) (*reply[client.Done], error) {
	s, ok := city.(Spending)
	if !ok {
		return nil, errNoUsage
	}
	return answer(s.LiftBudget(ctx, in.Name, in.Body))
}

// metricsType is the content type of the text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// metrics writes the metrics in the text format of Prometheus.
func metrics(ctx context.Context, s *Server, w http.ResponseWriter, _ *http.Request) error {
	m, ok := s.city.(MetricsSource)
	if !ok {
		return fmt.Errorf("%w: this city does not collect metrics", client.ErrUnsupported)
	}
	return m.Metrics(ctx, w)
}
