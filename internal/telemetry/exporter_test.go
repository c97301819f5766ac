package telemetry_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/telemetry"
	"gascity/test/storetest"
	"gascity/worker"
)

// The wire, as the definition of OTLP has it, read on its own: what is misspelt or of
// another type fails to decode.
type keyValue struct {
	Key   string
	Value struct {
		StringValue *string
		IntValue    *json.Number `json:",string"`
		DoubleValue *float64
	}
}

type received struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []keyValue }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []spanOf
		}
	}
	ResourceMetrics []struct {
		Resource     struct{ Attributes []keyValue }
		ScopeMetrics []struct {
			Scope   struct{ Name, Version string }
			Metrics []metricOf
		}
	}
}

type spanOf struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  json.Number
	Attributes                          []keyValue
	Status                              struct {
		Code    int
		Message string
	}
}

type dataOf struct {
	DataPoints []struct {
		Attributes                      []keyValue
		StartTimeUnixNano, TimeUnixNano json.Number
		AsDouble                        *float64
		Count                           json.Number
		Sum                             float64
		BucketCounts                    []json.Number
		ExplicitBounds                  []float64
	}
	AggregationTemporality int
	IsMonotonic            bool
}

type metricOf struct {
	Name, Description, Unit string
	Gauge, Sum, Histogram   *dataOf
}

// collector is a receiver of OTLP.
type collector struct {
	t    *testing.T
	hang chan struct{} // nil: it answers
	code int

	mu      sync.Mutex
	spans   []spanOf
	metrics map[string]metricOf
	asked   int
	header  http.Header
	news    chan struct{}
}

func newCollector(t *testing.T) (*collector, *httptest.Server) {
	c := &collector{t: t, metrics: map[string]metricOf{}, news: make(chan struct{}, 1000), code: http.StatusOK}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c.mu.Lock()
	c.asked++
	c.header = r.Header
	hang, code := c.hang, c.code
	c.mu.Unlock()
	if hang != nil {
		<-hang
	}
	var got received
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err == nil {
		err = decoder.Decode(&got)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/json" {
		c.t.Errorf("%s: %v\n%s", r.URL.Path, err, body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.WriteHeader(code)
	if code != http.StatusOK {
		return
	}
	for _, rs := range got.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	for _, rm := range got.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				c.metrics[m.Name] = m
			}
		}
	}
	c.news <- struct{}{}
}

func (c *collector) await(what string, is func() bool) {
	c.t.Helper()
	end := time.After(time.Minute)
	for {
		c.mu.Lock()
		ok := is()
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-c.news:
		case <-end:
			c.t.Fatalf("not within a minute: %s: %+v", what, c.spans)
		}
	}
}

func attribute(list []keyValue, key string) string {
	for _, a := range list {
		switch {
		case a.Key != key:
		case a.Value.StringValue != nil:
			return *a.Value.StringValue
		case a.Value.IntValue != nil:
			return a.Value.IntValue.String()
		case a.Value.DoubleValue != nil:
			return fmt.Sprint(*a.Value.DoubleValue)
		}
	}
	return ""
}

const runID = "run-0123456789abcdef"

func report(t *testing.T, log event.Log, kind event.Kind, body any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), client.Event{Kind: string(kind), Agent: "rig/one", Session: "gc-town-one", Data: map[string]string{"run": runID, "body": string(text)}}); err != nil {
		t.Fatal(err)
	}
}

func turn(id string, in, out int64) worker.Telemetry {
	return worker.Telemetry{RunID: runID, Events: []worker.TelemetryEvent{{
		Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: id, Usage: &worker.Usage{InputTokens: &in, OutputTokens: &out, Model: "m-1"},
		ToolsCalled: []worker.ToolCall{{Name: "Bash", Success: false, DurationMS: 1200, CallID: "c1"}},
	}}}
}

func start(t *testing.T, log event.Log, target telemetry.Target) (x *telemetry.Exporter, stop func() time.Duration) {
	t.Helper()
	target.Traces, target.Metrics = 20*time.Millisecond, 20*time.Millisecond
	x = telemetry.NewExporter(telemetry.ExporterOptions{
		Target: target, Events: log, City: "town", Version: "9", Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Provider: func(model string) string { return map[string]string{"m-1": "acme"}[model] },
		Metrics: func(context.Context) ([]telemetry.MetricFamily, error) {
			return []telemetry.MetricFamily{telemetry.NewMetricFamily(telemetry.Gauge, "gc_sessions", "Sessions.", 3)}, nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	return x, func() time.Duration {
		began := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
}

// TestARunIsATrace: the run, its responses of the model and its tools, by the names of
// the conventions, below the context that the agent was given.
func TestARunIsATrace(t *testing.T) {
	c, server := newCollector(t)
	target, err := telemetry.TargetFromEnv(func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	log := storetest.NewEvents(1000, 0, time.Now)
	_, stop := start(t, log, target)
	c.await("metrics", func() bool { return c.metrics["gc_sessions"].Gauge != nil }) // it reads the time line by now
	report(t, log, event.WorkerLifecycle, worker.Lifecycle{Event: worker.Started, RunID: runID})
	report(t, log, event.WorkerLifecycle, worker.Lifecycle{Event: worker.Busy, RunID: runID, Metadata: worker.Detail{ConversationID: "conv"}})
	report(t, log, event.WorkerTelemetry, turn("msg-1", 12000, 3500))
	report(t, log, event.WorkerLifecycle, worker.Lifecycle{Event: worker.Stopped, RunID: runID})
	c.await("three spans", func() bool { return len(c.spans) == 3 })
	c.await("the tokens", func() bool { return c.metrics["gen_ai.client.token.usage"].Histogram != nil })
	stop()
	parts := strings.Split(session.TraceParent(runID), "-")
	chat, tool, agent := c.spans[0], c.spans[1], c.spans[2]
	for _, s := range c.spans {
		if s.TraceID != parts[1] || len(s.TraceID) != 32 || len(s.SpanID) != 16 || attribute(s.Attributes, "gascity.run_id") != runID || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("span %+v", s)
		}
	}
	if agent.Name != "invoke_agent rig/one" || agent.SpanID != parts[2] || agent.ParentSpanID != "" || chat.ParentSpanID != agent.SpanID || tool.ParentSpanID != chat.SpanID {
		t.Errorf("the tree is %+v", c.spans)
	}
	for key, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": "12000", "gen_ai.usage.output_tokens": "3500",
		"gen_ai.provider.name": "acme", "gen_ai.response.id": "msg-1", "gen_ai.agent.name": "rig/one", "gen_ai.conversation.id": "conv", "gen_ai.usage.cache_read.input_tokens": "",
	} {
		if got := attribute(chat.Attributes, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if tool.Name != "execute_tool Bash" || tool.Status.Code != 2 || attribute(tool.Attributes, "gen_ai.tool.call.id") != "c1" {
		t.Errorf("the tool is %+v", tool)
	}
	if h := c.metrics["gen_ai.client.token.usage"].Histogram; h.AggregationTemporality != 2 || len(h.DataPoints) != 2 || len(h.DataPoints[0].BucketCounts) != len(h.DataPoints[0].ExplicitBounds)+1 || h.DataPoints[0].Sum+h.DataPoints[1].Sum != 15500 {
		t.Errorf("the tokens are %+v", h)
	}
	if c.header.Get("X-Key") != "a b" {
		t.Errorf("the header is %q", c.header)
	}
}

// TestAResponseCountsOnce: a report that comes again takes the place of the earlier one in
// what is counted; and the provider that a worker names goes before the table's.
func TestAResponseCountsOnce(t *testing.T) {
	c, server := newCollector(t)
	log := storetest.NewEvents(1000, 0, time.Now)
	_, stop := start(t, log, telemetry.Target{URL: server.URL, Timeout: time.Minute})
	defer stop()
	c.await("metrics", func() bool { return c.metrics["gc_sessions"].Gauge != nil })
	for _, out := range []int64{10, 10, 4000} { // as it grows
		report(t, log, event.WorkerTelemetry, turn("msg-1", 100, out))
	}
	other := turn("msg-2", 100, 1)
	other.Events[0].Usage.Provider = "elsewhere"
	report(t, log, event.WorkerTelemetry, other)
	sums := func() map[string]string {
		got := map[string]string{}
		if h := c.metrics["gen_ai.client.token.usage"].Histogram; h != nil {
			for _, p := range h.DataPoints {
				got[attribute(p.Attributes, "gen_ai.provider.name")+" "+attribute(p.Attributes, "gen_ai.token.type")] = fmt.Sprint(p.Count, " ", p.Sum)
			}
		}
		return got
	}
	want := map[string]string{"acme input": "1 100", "acme output": "1 4000", "elsewhere input": "1 100", "elsewhere output": "1 1"}
	c.await(fmt.Sprint(want), func() bool { return maps.Equal(sums(), want) })
}

// TestABadCollectorLosesTelemetryAlone: one that hangs, one that refuses and one that is
// not there; the time line goes on at once, the loss is counted, and the end does not
// wait long.
func TestABadCollectorLosesTelemetryAlone(t *testing.T) {
	hanging, slow := newCollector(t)
	hanging.hang = make(chan struct{})
	t.Cleanup(func() { close(hanging.hang) }) // before the server is closed
	refusing, no := newCollector(t)
	refusing.code = http.StatusServiceUnavailable
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, url := range map[string]string{"hanging": slow.URL, "refusing": no.URL, "gone": gone.URL} {
		t.Run(name, func(t *testing.T) {
			log := storetest.NewEvents(100_000, 0, time.Now)
			x, stop := start(t, log, telemetry.Target{URL: url, Timeout: time.Minute})
			began := time.Now()
			for i := range 3_000 {
				report(t, log, event.WorkerTelemetry, turn(fmt.Sprint("msg-", i), 1, 1))
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("3,000 events took %s", took)
			}
			if took := stop(); took > 10*time.Second {
				t.Errorf("the end took %s", took)
			}
			if x.Lost() == 0 {
				t.Error("nothing was lost, they say")
			}
		})
	}
}

// TestIntervalsOfTheEnvironment: what is not a duration leaves the default.
func TestIntervalsOfTheEnvironment(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "250": 250 * time.Millisecond, "-1": 0, "soon": 0, "9300000000000": 0, "9223372036854775807": 0} {
		target, err := telemetry.TargetFromEnv(func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_METRIC_EXPORT_INTERVAL": text}[name]
		})
		if err != nil || target.Metrics != want {
			t.Errorf("%q: the interval is %v, %v; want %v", text, target.Metrics, err, want)
		}
	}
}

func TestTargets(t *testing.T) {
	for endpoint, good := range map[string]bool{"": true, "http://127.0.0.1:4318": true, "collector:4317": false, "ftp://x": false} {
		target, err := telemetry.TargetFromEnv(func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}[name]
		})
		if (err == nil) != good || err == nil && target.URL != endpoint {
			t.Errorf("%q: %+v, %v", endpoint, target, err)
		}
	}
	off, err := telemetry.TargetFromEnv(func(string) string { return "true" })
	if err != nil || off.URL != "" {
		t.Errorf("OTEL_SDK_DISABLED: %+v, %v", off, err)
	}
}

// TestEveryEndOfARunIsOneSpan: a run ends once, by the word of its worker, by that of the
// city, or since another one has its place; and with the status of how it did.
func TestEveryEndOfARunIsOneSpan(t *testing.T) {
	c, server := newCollector(t)
	log := storetest.NewEvents(1000, 0, time.Now)
	_, stop := start(t, log, telemetry.Target{URL: server.URL, Timeout: time.Minute})
	defer stop()
	c.await("metrics", func() bool { return c.metrics["gc_sessions"].Gauge != nil })
	now := time.Now()
	tell := func(name string, kind event.Kind, data map[string]string) {
		t.Helper()
		data["run"] = cmp.Or(data["run"], "run-"+name)
		if data["run"] == "none" {
			delete(data, "run")
		}
		if _, err := log.Append(t.Context(), client.Event{Kind: string(kind), Agent: name, Session: "s-" + name, Text: "its text", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(of worker.Transition, d worker.Detail) map[string]string {
		body, err := json.Marshal(worker.Lifecycle{Event: of, Metadata: d})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"body": string(body)}
	}
	since := now.Add(-time.Hour).Format(time.RFC3339Nano)
	three := 3
	ends := []struct {
		name string
		tell func(name string)
		want string // status code, error.type, gascity.end
	}{
		{"slept", func(n string) {
			tell(n, event.SessionStarted, map[string]string{})
			tell(n, event.WorkerLifecycle, told(worker.Idle, worker.Detail{}))
			tell(n, event.SessionStopped, map[string]string{"reason": "sleep", "since": since})
		}, "0  sleep"},
		{"told-to-end", func(n string) {
			tell(n, event.SessionStopping, map[string]string{"reason": "the city stops"})
			tell(n, event.SessionExited, map[string]string{"code": "0", "signal": "interrupt"})
			tell(n, event.SessionStopped, map[string]string{"reason": "the city stops"})
		}, "0  the city stops"},
		{"in-order", func(n string) {
			tell(n, event.SessionExited, map[string]string{"code": "0", "exit": "exited with code 0"})
		}, "0  its text"},
		{"code", func(n string) {
			tell(n, event.SessionExited, map[string]string{"code": "3", "exit": "exited with code 3"})
		}, "2 exit exited with code 3"},
		{"signal", func(n string) {
			tell(n, event.SessionExited, map[string]string{"code": "0", "signal": "killed", "exit": "ended by signal: killed"})
		}, "2 exit ended by signal: killed"},
		{"nobody-knows", func(n string) { tell(n, event.SessionExited, map[string]string{}) }, "0  its text"},
		{"lost", func(n string) { tell(n, event.SessionLost, map[string]string{}) }, "2 lost its text"},
		{"crashed", func(n string) {
			tell(n, event.WorkerLifecycle, told(worker.Crashed, worker.Detail{ExitCode: &three, Reason: "boom"}))
		}, "2 exit boom"},
		{"told-twice", func(n string) {
			tell(n, event.WorkerLifecycle, told(worker.Stopped, worker.Detail{Reason: "done"}))
			tell(n, event.SessionExited, map[string]string{"code": "1"})
			tell(n, event.WorkerLifecycle, told(worker.Stopped, worker.Detail{Reason: "late"}))
		}, "0  done"},
		{"replaced", func(n string) {
			tell(n, event.WorkerLifecycle, told(worker.Idle, worker.Detail{}))
			tell(n, event.WorkerLifecycle, map[string]string{"run": "run-next", "body": told(worker.Started, worker.Detail{})["body"]})
			tell(n, event.SessionRelaunched, map[string]string{"run": "run-next"})
		}, "0  another instance has its place"},
		{"cut-start", func(n string) {
			tell(n, event.WorkerLifecycle, told(worker.Started, worker.Detail{}))
			tell(n, event.SessionStartFailed, map[string]string{"run": "none"})
		}, "2 start its text"},
	}
	for _, row := range ends {
		row.tell(row.name)
	}
	tell("last", event.SessionStarted, map[string]string{})
	tell("last", event.ControllerStopping, map[string]string{"scope": "city", "run": "none"}) // it interrupts all of them before it stops each
	tell("last", event.SessionExited, map[string]string{"code": "-1", "signal": "interrupt"})
	of := func(name string) (found []spanOf) {
		for _, s := range c.spans {
			if s.Name == "invoke_agent "+name {
				found = append(found, s)
			}
		}
		return found
	}
	c.await("the last end", func() bool { return len(of("last")) > 0 }) // all events before it are here, too
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, row := range ends {
		spans := of(row.name)
		if len(spans) != 1 {
			t.Errorf("%s has %d spans: %+v", row.name, len(spans), spans)
			continue
		}
		s, id := spans[0], "run-"+row.name
		if got := fmt.Sprint(s.Status.Code, " ", attribute(s.Attributes, "error.type"), " ", attribute(s.Attributes, "gascity.end")); got != row.want {
			t.Errorf("%s ended as %q, want %q", row.name, got, row.want)
		}
		if parts := strings.Split(session.TraceParent(id), "-"); s.TraceID != parts[1] || s.SpanID != parts[2] || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("%s is not the root of its trace: %+v", row.name, s)
		}
	}
	if last := of("last")[0]; last.Status.Code != 0 || attribute(last.Attributes, "gascity.end") != "the city ends" {
		t.Errorf("a city that ends leaves %+v", last)
	}
	if spans := of("slept"); len(spans) == 1 && spans[0].StartTimeUnixNano.String() != fmt.Sprint(now.Add(-time.Hour).UnixNano()) {
		t.Errorf("it began at %s, not when the city says", spans[0].StartTimeUnixNano)
	}
}
