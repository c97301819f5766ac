package cityservice

import (
	"context"
	"io"

	"gascity/client"
	"gascity/internal/telemetry"
)

// Metrics writes the metrics of the city in the text format of Prometheus. It implements
// controlapi.Diagnostics.
func (f Service) Metrics(ctx context.Context, w io.Writer) error {
	families, err := f.Families(ctx)
	if err != nil {
		return err
	}
	return telemetry.WriteMetrics(w, families)
}

// Families returns the metrics of the city.
func (f Service) Families(ctx context.Context) ([]telemetry.MetricFamily, error) {
	status, err := f.Status(ctx)
	if err != nil {
		return nil, err
	}
	queue, err := f.Queue(ctx, "", client.OnlyOpen)
	if err != nil {
		return nil, err
	}
	sessions, activities, prompts := map[string]int{}, map[string]int{}, map[string]int{}
	for _, a := range status.Agents {
		sessions[a.State]++
		if a.State == client.StateRunning {
			activities[a.Activity.State]++
		}
	}
	for _, r := range queue {
		prompts[r.State]++
	}
	degraded := 0.0
	if status.Controller.Degraded != "" {
		degraded = 1
	}
	families := []telemetry.MetricFamily{
		telemetry.GaugeByLabel("gc_sessions", "Sessions by lifecycle state.", "state", sessions),
		telemetry.GaugeByLabel("gc_session_activities", "Running sessions by activity.", "activity", activities),
		telemetry.GaugeByLabel("gc_prompts", "Queued and injected prompts, by state.", "state", prompts),
		f.opts.Decisions.Family("gc_authorize_seconds", "Duration of decisions about tool calls, without those of a person."),
		telemetry.NewMetricFamily(telemetry.Gauge, "gc_controller_start_seconds", "When the controller started, in seconds since 1970.", float64(status.Controller.StartedAt.Unix())),
		telemetry.NewMetricFamily(telemetry.Gauge, "gc_controller_degraded", "Whether the controller stops no sessions because it is degraded.", degraded),
	}
	families = append(append(families, telemetry.ProcessMetrics("gc_controller_cpu_seconds_total")...), f.opts.Engines.Credentials.Metrics()...)
	return append(families, f.opts.Engines.Budgets.Metrics()...), nil
}
