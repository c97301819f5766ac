package app

import (
	"context"

	"gascity/internal/server/cityservice"
	"gascity/internal/telemetry"
)

// export sends the city's traces and metrics to an OpenTelemetry collector until ctx ends, if the
// controller's environment names one.
func (k *controllerProcess) export(ctx context.Context, f cityservice.Service, version string) error {
	target, err := telemetry.TargetFromEnv(k.daemon.Environ.Get)
	if err != nil {
		k.logger.Warn("telemetry is not exported", "error", err)
	}
	if target.URL == "" {
		return nil
	}
	for _, value := range target.Header {
		k.secrets.Hide(value)
	}
	return telemetry.NewExporter(telemetry.ExporterOptions{
		Target: target, Events: k.store, Metrics: f.Families, City: k.section().Workspace.Name,
		Version: version, Logger: k.logger, Now: k.daemon.opts.Now,
		Provider: func(model string) string { return k.budgets().Prices.Provider(model) },
	}).Run(ctx)
}
