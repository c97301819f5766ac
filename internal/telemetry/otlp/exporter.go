package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/telemetry/metric"
)

// Target is where telemetry goes. The zero value has no address.
type Target struct {
	URL      string // of the collector, without /v1/...
	Header   map[string]string
	Service  string        // its name; empty is gascity
	Timeout  time.Duration // of a request; zero is 10 s
	Traces   time.Duration // how often spans are sent; zero is 5 s
	Metrics  time.Duration // how often metrics are; zero is 60 s
	Resource map[string]string
}

// TargetFromEnv reads the variables of OpenTelemetry. An invalid value counts as unset,
// except the address: an invalid address is an error, and nothing is sent.
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

// pairs reads "a=b,c=d", with escapes as in addresses.
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

func millis(s string) time.Duration {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// Options is what an exporter needs. Target and Events are required.
type Options struct {
	Target  Target
	Events  event.Log
	Metrics func(ctx context.Context) ([]metric.Family, error) // of the city; it may be nil
	City    string                                             // its name
	// Provider is who serves a model, as gen_ai.provider.name has it, where a worker does
	// not report it; empty is not known. It may be nil.
	Provider func(model string) string
	Version  string
	Logger   *slog.Logger
	Now      func() time.Time
}

// Exporter sends the telemetry of one city.
type Exporter struct {
	opts  Options
	http  *http.Client
	spans chan span
	lost  atomic.Uint64
}

// maxQueued is how many spans wait at most; of one more, itself is lost.
const maxQueued = 4096

// New returns an exporter that does nothing before [Exporter.Run].
func New(opts Options) *Exporter {
	t := &opts.Target
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{{&t.Timeout, 10 * time.Second}, {&t.Traces, 5 * time.Second}, {&t.Metrics, time.Minute}} {
		if *d.at <= 0 {
			*d.at = d.def
		}
	}
	if t.Service == "" {
		t.Service = "gascity"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Provider == nil {
		opts.Provider = func(string) string { return "" }
	}
	return &Exporter{
		opts: opts, spans: make(chan span, maxQueued),
		http: &http.Client{Timeout: t.Timeout, Transport: &http.Transport{MaxIdleConns: 2}},
	}
}

// Lost returns how many spans were lost.
func (x *Exporter) Lost() uint64 { return x.lost.Load() }

// Run exports until ctx ends, then sends what waits, once. It never fails.
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

// follow reads the time line from now on. It never blocks.
func (x *Exporter) follow(ctx context.Context, out chan<- client.Event) {
	defer close(out)
	at, err := x.opts.Events.Since(x.opts.Now())
	for err == nil && ctx.Err() == nil {
		if err = x.opts.Events.Wait(ctx, at); err != nil {
			break
		}
		var page []client.Event
		page, _, err = x.opts.Events.After(at)
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

// enqueue holds spans for the next request; what finds no room is lost, and counted.
func (x *Exporter) enqueue(spans []span) {
	for _, s := range spans {
		select {
		case x.spans <- s:
		default:
			x.lost.Add(1)
		}
	}
}

// send folds events and sends batches. A request that hangs holds up the next ones
// alone.
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
		default: // the last one is under way still: what waits goes with the next
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

// finalFlushTimeout is how long the last requests may take when the city's controller ends.
const finalFlushTimeout = 2 * time.Second

// maxBatch is how many spans go in one request.
const maxBatch = 512

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

func (x *Exporter) postMetrics(ctx context.Context, own []instrument, began time.Time) {
	if x.opts.Metrics != nil {
		families, err := x.opts.Metrics(ctx)
		if err != nil {
			x.opts.Logger.Debug("the city's metrics cannot be had", "error", err)
		}
		lost := metric.NewFamily(metric.Counter, "gc_telemetry_lost_total", "Events and spans that no collector has got.", float64(x.Lost()))
		own = append(own, instruments(append(families, lost), began, x.opts.Now())...)
	}
	if len(own) == 0 {
		return
	}
	body := map[string]any{"resourceMetrics": []any{map[string]any{
		"resource": x.resource(), "scopeMetrics": []any{map[string]any{"scope": x.scope(), "metrics": own}},
	}}}
	if err := x.post(ctx, "/v1/metrics", body); err != nil {
		x.opts.Logger.Debug("metrics are lost", "error", err)
	}
}

func (x *Exporter) scope() scope { return scope{"gascity", x.opts.Version} }

func (x *Exporter) resource() resource {
	all := map[string]string{"gascity.city": x.opts.City}
	maps.Copy(all, x.opts.Target.Resource)
	all["service.name"], all["service.version"] = x.opts.Target.Service, x.opts.Version
	return resource{attributes(all)}
}

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
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection can be used again
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the collector says %s", res.Status)
	}
	return nil
}
