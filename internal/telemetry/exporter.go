package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
)

// Target describes the collector that telemetry is sent to. The zero value has no address: nothing is sent.
type Target struct {
	URL      string // address of the collector, without /v1/...
	Header   map[string]string
	Service  string        // name of the service; empty means gascity
	Timeout  time.Duration // timeout of a request; zero means 10 s
	Traces   time.Duration // interval between exports of spans; zero means 5 s
	Metrics  time.Duration // interval between exports of metrics; zero means 60 s
	Resource map[string]string
}

// TargetFromEnv reads the OpenTelemetry environment variables. An invalid value counts as unset, but an invalid address is an
// error, and nothing is sent.
func TargetFromEnv(get func(string) string) (Target, error) {
	t := Target{URL: strings.TrimRight(get("OTEL_EXPORTER_OTLP_ENDPOINT"), "/"), Service: get("OTEL_SERVICE_NAME")}
	if t.URL == "" || strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") {
		return Target{}, nil
	}
	if at, err := url.Parse(t.URL); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return Target{}, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT is not an http address")
	}
	t.Header, t.Resource = pairs(get("OTEL_EXPORTER_OTLP_HEADERS")), pairs(get("OTEL_RESOURCE_ATTRIBUTES"))
	t.Timeout = millis(get("OTEL_EXPORTER_OTLP_TIMEOUT"))
	t.Traces, t.Metrics = millis(get("OTEL_BSP_SCHEDULE_DELAY")), millis(get("OTEL_METRIC_EXPORT_INTERVAL"))
	return t, nil
}

// pairs parses "a=b,c=d", with URL escapes in the values.
func pairs(list string) map[string]string {
	out := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		key, escaped, ok := strings.Cut(strings.TrimSpace(item), "=")
		if v, err := url.PathUnescape(strings.TrimSpace(escaped)); ok && err == nil && key != "" {
			out[strings.TrimSpace(key)] = v
		}
	}
	return out
}

// millis converts a number of milliseconds in a text to a duration; zero if the text is not a number, or if it is negative
// or too large for a duration.
func millis(s string) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || time.Duration(n) > math.MaxInt64/time.Millisecond {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// ExporterOptions are the options of [NewExporter]. All of them are required.
type ExporterOptions struct {
	Target  Target
	Events  event.Log
	Metrics func(ctx context.Context) ([]MetricFamily, error) // returns the metrics of the city
	City    string                                            // name of the city
	// Provider returns the provider of a model, as a value of gen_ai.provider.name, if a worker does not report it. It returns
	// an empty string if the provider is unknown.
	Provider func(model string) string
	Version  string
	Logger   *slog.Logger
	Now      func() time.Time
}

// Exporter sends the telemetry of one city.
type Exporter struct {
	opts  ExporterOptions
	http  *http.Client
	spans chan span
	lost  atomic.Uint64
}

// maxQueued bounds the spans that wait to be sent. Further spans are lost.
const maxQueued = 4096

// NewExporter returns an exporter. It sends nothing before [Exporter.Run].
func NewExporter(opts ExporterOptions) *Exporter {
	t := &opts.Target
	t.Timeout, t.Traces, t.Metrics = cmp.Or(t.Timeout, 10*time.Second), cmp.Or(t.Traces, 5*time.Second), cmp.Or(t.Metrics, time.Minute)
	t.Service = cmp.Or(t.Service, "gascity")
	return &Exporter{
		opts: opts, spans: make(chan span, maxQueued),
		http: &http.Client{Timeout: t.Timeout, Transport: &http.Transport{MaxIdleConns: 2}},
	}
}

// Lost returns the number of events and spans that were lost.
func (x *Exporter) Lost() uint64 { return x.lost.Load() }

// Run exports until ctx ends, then sends the waiting spans and metrics once. It always returns nil.
func (x *Exporter) Run(ctx context.Context) error {
	defer x.http.CloseIdleConnections()
	began := x.opts.Now()
	folded := make(chan client.Event, 256)
	sent := make(chan struct{})
	go func() { // waited for below
		defer close(sent)
		x.send(ctx, began, folded)
	}()
	x.follow(ctx, folded)
	<-sent
	return nil
}

// follow reads new events from the event log and sends them to out. If out is full, events are lost.
func (x *Exporter) follow(ctx context.Context, out chan<- client.Event) {
	defer close(out)
	at, err := x.opts.Events.Since(ctx, x.opts.Now())
	for err == nil && ctx.Err() == nil {
		if err = x.opts.Events.Wait(ctx, at); err != nil {
			break
		}
		var page []client.Event
		page, _, err = x.opts.Events.After(ctx, at)
		for _, e := range page {
			at = e.ID
			select {
			case out <- e:
			default:
				x.lost.Add(1)
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		x.opts.Logger.Warn("telemetry is not exported any more", "error", err)
	}
}

// enqueue queues spans for the next request. If the queue is full, spans are lost and counted.
func (x *Exporter) enqueue(spans []span) {
	for _, s := range spans {
		select {
		case x.spans <- s:
		default:
			x.lost.Add(1)
		}
	}
}

// send turns events into spans and sends spans and metrics in batches. A request that takes long delays only later requests,
// not the reading of events.
func (x *Exporter) send(ctx context.Context, began time.Time, in <-chan client.Event) {
	requests := make(chan func(context.Context), 1)
	done := make(chan struct{})
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finalFlushTimeout, cancel) })()
	go func() { // waited for below
		defer close(done)
		for do := range requests {
			do(last)
		}
	}()
	defer func() { close(requests); <-done }()
	f := newAggregator(began, x.opts.Provider)
	traces, metrics := time.NewTicker(x.opts.Target.Traces), time.NewTicker(x.opts.Target.Metrics)
	defer traces.Stop()
	defer metrics.Stop()
	queue := func(do func(context.Context)) {
		select {
		case requests <- do:
		default: // the last request is still in progress: the data is sent with the next one
		}
	}
	for {
		select {
		case e, open := <-in:
			if !open {
				instruments := f.tokenUsage(x.opts.Now())
				requests <- func(ctx context.Context) {
					x.postSpans(ctx)
					x.postMetrics(ctx, instruments, began)
				}
				return
			}
			x.enqueue(f.apply(e))
		case <-traces.C:
			queue(x.postSpans)
		case <-metrics.C:
			instruments := f.tokenUsage(x.opts.Now())
			queue(func(ctx context.Context) { x.postMetrics(ctx, instruments, began) })
		}
	}
}

// finalFlushTimeout bounds the last requests when the controller stops.
const finalFlushTimeout = 2 * time.Second

// maxBatch is the largest number of spans in one request.
const maxBatch = 512

// postSpans sends all waiting spans in batches. If a request fails, its spans are lost.
func (x *Exporter) postSpans(ctx context.Context) {
	for {
		var batch []span
		for len(batch) < maxBatch && len(x.spans) > 0 {
			batch = append(batch, <-x.spans)
		}
		if len(batch) == 0 {
			return
		}
		body := map[string]any{"resourceSpans": []any{map[string]any{
			"resource": x.resource(), "scopeSpans": []any{map[string]any{"scope": x.scope(), "spans": batch}},
		}}}
		if err := x.post(ctx, "/v1/traces", body); err != nil {
			x.lost.Add(uint64(len(batch)))
			x.opts.Logger.Debug("spans are lost", "spans", len(batch), "error", err)
			return
		}
	}
}

// postMetrics sends own and the metrics of the city in one request.
func (x *Exporter) postMetrics(ctx context.Context, own []instrument, began time.Time) {
	families, err := x.opts.Metrics(ctx)
	if err != nil {
		x.opts.Logger.Debug("cannot read the metrics of the city", "error", err)
	}
	lost := NewMetricFamily(Counter, "gc_telemetry_lost_total", "Events and spans that no collector has got.", float64(x.Lost()))
	own = append(own, instruments(append(families, lost), began, x.opts.Now())...)
	body := map[string]any{"resourceMetrics": []any{map[string]any{
		"resource": x.resource(), "scopeMetrics": []any{map[string]any{"scope": x.scope(), "metrics": own}},
	}}}
	if err := x.post(ctx, "/v1/metrics", body); err != nil {
		x.opts.Logger.Debug("metrics are lost", "error", err)
	}
}

func (x *Exporter) scope() scope { return scope{"gascity", x.opts.Version} }

// resource returns the attributes that describe the sender of all telemetry: the service, its version and the city.
func (x *Exporter) resource() resource {
	all := map[string]string{"gascity.city": x.opts.City}
	maps.Copy(all, x.opts.Target.Resource)
	all["service.name"], all["service.version"] = x.opts.Target.Service, x.opts.Version
	return resource{attributes(all)}
}

// post sends one request with body as JSON to the collector. An answer other than success is an error.
func (x *Exporter) post(ctx context.Context, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, x.opts.Target.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.opts.Target.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	for name, v := range x.opts.Target.Header {
		req.Header.Set(name, v)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := x.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection can be reused
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the collector answered %s", res.Status)
	}
	return nil
}
