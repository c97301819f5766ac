package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"gascity/internal/domain/session"
	"gascity/worker"
)

// TestTelemetryOfACity checks that a city with a telemetry collector sends it the reports of
// workers and the end of each run, and that agents get the trace context.
func TestTelemetryOfACity(t *testing.T) {
	var traces, metrics, ended atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it is seen by what is missing
		}
		text := string(body)
		if r.URL.Path == "/v1/traces" && strings.Contains(text, `"gen_ai.request.model"`) && strings.Contains(text, `"run-`) {
			traces.Store(true)
		}
		if r.URL.Path == "/v1/traces" && strings.Contains(text, `"invoke_agent one"`) && strings.Contains(text, `"gascity.end"`) {
			ended.Store(true)
		}
		if r.URL.Path == "/v1/metrics" && strings.Contains(text, `"gc_sessions"`) && strings.Contains(text, `"town"`) {
			metrics.Store(true)
		}
	}))
	t.Cleanup(server.Close)
	d, root := newDaemon(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=50"), newCity(t, loopbackCity)
	r := runController(t, d, root)
	r.until("one", "running", isRunning)
	env := readAgentEnv(t, root, "one")
	if got, want := env["TRACEPARENT"], session.TraceParent(env["GC_RUN_ID"]); got != want {
		t.Errorf("TRACEPARENT is %q, want %q", got, want)
	}
	c := &worker.Client{Socket: env["GC_WORKER_SOCKET"], Token: env["GC_WORKER_TOKEN"], RunID: env["GC_RUN_ID"]}
	defer c.Close()
	tokens := int64(7)
	event := worker.TelemetryEvent{Type: worker.TurnComplete, MessageID: "m", Usage: &worker.Usage{InputTokens: &tokens, Model: "x"}}
	if _, err := c.Telemetry(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	await(t, "traces and metrics have come", func() bool { return traces.Load() && metrics.Load() })
	r.stopCity()
	await(t, "the end of the run has come", ended.Load)
}
