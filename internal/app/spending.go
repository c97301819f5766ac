package app

import (
	"context"
	"io"
	"time"

	"gascity/client"
	"gascity/internal/controller"
	"gascity/internal/domain/usage"
	"gascity/internal/server/controlapi"
	"gascity/internal/service/budgets"
	"gascity/internal/service/workers"
	"gascity/internal/store"
	"gascity/internal/telemetry/metric"
	"gascity/worker"
)

// openSpending makes the book-keeper of the city.
func (k *controllerProcess) openSpending(e *engines, c *controller.Controller, db *store.DB) {
	e.spending = budgets.New(budgets.Options{
		City: c, Store: db, Events: e.events, Rules: k.budgets, Changed: func(session string) { e.prompts.SessionChanged(session) },
		Logger: k.logger, Now: k.daemon.opts.Now,
	})
	k.spending = e.spending
}

// budgets are the budgets and prices of the configuration in force.
func (k *controllerProcess) budgets() budgets.Rules {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last.Spending
}

// queuedFor counts the prompts that are a reason to run a session: what is held by a
// budget is none.
func (e *engines) queuedFor(session string) (int, time.Time) {
	if e.spending != nil && e.spending.IsHeld(session) {
		return 0, time.Time{}
	}
	return e.prompts.QueuedFor(session)
}

// spend keeps what was spent, see workers.Options.
func (e *engines) spend(ctx context.Context, entries []usage.Entry) (int, error) {
	return e.spending.Spend(ctx, entries)
}

// judged is how long decisions about tools take, without those that a person is
// asked about.
func judged() *metric.Histogram {
	return metric.NewHistogram(
		100*time.Microsecond, 250*time.Microsecond, 500*time.Microsecond, time.Millisecond, 2500*time.Microsecond, 5*time.Millisecond,
		10*time.Millisecond, 25*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond, time.Second,
	)
}

// timedWorkers are the workers of a city whose questions are timed.
type timedWorkers struct {
	*workers.Engine
	took *metric.Histogram
}

// Authorize keeps the contract of workerapi.Guard.
func (w timedWorkers) Authorize(ctx context.Context, id string, c worker.Call) (worker.Decision, error) {
	began := time.Now()
	d, err := w.Engine.Authorize(ctx, id, c)
	if d.Interaction == "" {
		w.took.Observe(time.Since(began))
	}
	return d, err
}

var (
	_ controlapi.Spending      = cityService{}
	_ controlapi.MetricsSource = cityService{}
)

// Usage keeps the contract of controlapi.Spending.
func (f cityService) Usage(ctx context.Context, req client.UsageRequest) (client.Usage, error) {
	return f.spending.Usage(ctx, req)
}

// Budgets keeps the contract of controlapi.Spending.
func (f cityService) Budgets(ctx context.Context) ([]client.Budget, error) {
	return f.spending.Budgets(ctx)
}

// LiftBudget keeps the contract of controlapi.Spending.
func (f cityService) LiftBudget(ctx context.Context, name string, req client.LiftRequest) (client.Done, error) {
	return f.spending.LiftBudget(ctx, name, req)
}

// Metrics keeps the contract of controlapi.MetricsSource.
func (f cityService) Metrics(ctx context.Context, w io.Writer) error {
	families, err := f.families(ctx)
	if err != nil {
		return err
	}
	return metric.Write(w, families)
}

// families are the metrics of the city.
func (f cityService) families(ctx context.Context) ([]metric.Family, error) {
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
	families := []metric.Family{
		metric.GaugeByLabel("gc_sessions", "Sessions by the state of their life.", "state", sessions),
		metric.GaugeByLabel("gc_session_activities", "Running sessions by what their agents do.", "activity", activities),
		metric.GaugeByLabel("gc_prompts", "Prompts on their way, by state.", "state", prompts),
		f.process.judged.Family("gc_authorize_seconds", "How long it took to decide whether a tool may be used, where no person was asked."),
		metric.NewFamily(metric.Gauge, "gc_controller_start_seconds", "When the controller began, in seconds since 1970.", float64(status.Controller.StartedAt.Unix())),
		metric.NewFamily(metric.Gauge, "gc_controller_degraded", "Whether acts that end something are frozen.", truth(status.Controller.Degraded != "")),
	}
	families = append(append(families, metric.ProcessMetrics("gc_controller_cpu_seconds_total")...), f.process.broker.Metrics()...)
	return append(families, f.spending.Metrics()...), nil
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
