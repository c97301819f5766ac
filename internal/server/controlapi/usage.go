package controlapi

import (
	"context"
	"net/http"
	"time"

	"gascity/client"
)

type usageInput struct {
	By     string    `query:"by" enum:"agent,model,hour,day,tool" doc:"how usage is grouped; default: agent"`
	Since  time.Time `query:"since" doc:"only usage from then on"`
	Target string    `query:"target" maxLength:"1024" doc:"only usage of the agent or session of this name"`
}

// spent returns the usage, in groups.
func spent(ctx context.Context, city City, in *usageInput) (client.Usage, error) {
	return city.Usage(ctx, client.UsageRequest(*in))
}

type liftInput struct {
	Name string `path:"name" doc:"the name of the budget"`
	Body client.LiftRequest
}

// liftBudget resets a budget that is used up.
func liftBudget(ctx context.Context, city City, in *liftInput) (client.Done, error) {
	return city.LiftBudget(ctx, in.Name, in.Body)
}

// metricsType is the content type of the text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// metrics writes the metrics in the text format of Prometheus.
func metrics(ctx context.Context, s *Server, w http.ResponseWriter, _ *http.Request) error {
	return s.city.Metrics(ctx, w)
}
