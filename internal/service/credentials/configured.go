package credentials

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/event"
	"gascity/internal/domain/plan"
	"gascity/internal/service/engine"
	"gascity/internal/telemetry"
)

// Configure applies the credentials of a city's configuration.
func (b *Broker) Configure(city *config.City, desired *plan.Desired) {
	var accounts []Account
	for name, c := range city.Credentials {
		accounts = append(accounts, Account{
			Name: name, Type: string(c.Type), Before: c.RefreshBefore,
			Source: Source{Env: c.Env, File: city.Abs(c.File), Command: c.Command, Life: c.Lifetime, Timeout: c.Timeout},
		})
	}
	leases := map[string][]string{}
	for _, s := range desired.Sessions {
		names := slices.Clone(s.Credentials)
		for _, secret := range s.UpstreamEnv {
			if secret.Kind() == config.SecretCredential {
				names = append(names, secret.Reference())
			}
		}
		if slices.Sort(names); len(names) > 0 {
			leases[s.Name] = slices.Compact(names)
		}
	}
	b.Use(accounts, leases)
}

// NewStateReporter returns a function that appends an event for each change of a credential's
// phase. Use it for Options.OnState.
func NewStateReporter(events event.Log, logger *slog.Logger) func(context.Context, State) {
	return func(ctx context.Context, s State) {
		kinds := map[Phase]event.Kind{Good: event.CredentialGood, Failing: event.CredentialFailing, Expired: event.CredentialExpired}
		kind, known := kinds[s.Phase]
		if !known {
			return // the credential was not needed yet
		}
		data := map[string]string{"credential": s.Name}
		if !s.Expires.IsZero() && s.Phase != Expired {
			data["until"] = s.Expires.UTC().Format(time.RFC3339)
		}
		if s.Err != nil {
			data["error"] = s.Err.Error()
			logger.Warn("cannot renew a credential", "credential", s.Name, "state", s.Phase, "error", s.Err)
		}
		engine.Record(ctx, events, logger, client.Event{Kind: string(kind), Data: data}, "credential", s.Name)
	}
}

// Metrics returns when each credential expires, and whether it is good.
func (b *Broker) Metrics() []telemetry.MetricFamily {
	ends := telemetry.MetricFamily{Name: "gc_credential_expires_seconds", Help: "When a credential expires, in seconds since 1970.", Type: telemetry.Gauge}
	good := telemetry.MetricFamily{Name: "gc_credential_good", Help: "Whether a credential is valid and its last renewal succeeded.", Type: telemetry.Gauge}
	for _, s := range b.States() {
		if s.Phase == "" {
			continue
		}
		value := 0.0
		if s.Phase == Good {
			value = 1
		}
		good.Add(value, "credential", s.Name)
		if !s.Expires.IsZero() {
			ends.Add(float64(s.Expires.Unix()), "credential", s.Name)
		}
	}
	if len(good.Samples) == 0 {
		return nil
	}
	return []telemetry.MetricFamily{good, ends}
}
