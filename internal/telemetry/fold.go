package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/worker"
)

// aggregator turns events into spans and token counts. It must be used by one goroutine only.
type aggregator struct {
	began      time.Time
	runs       map[string]*runState
	ended      []string // IDs of ended runs, the oldest first
	usage      map[usageKey]*histogram
	providerOf func(model string) (provider string)
}

type usageKey struct{ kind, provider, model, agent string }

// bounds returns the bucket bounds that the conventions recommend for token counts.
func bounds() []float64 {
	return []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
}

type histogram struct {
	counts []int64
	sum    float64
	count  int64
}

const (
	// maxRuns bounds the stored runs whose end was not reported.
	maxRuns = 10_000
	// maxEnded bounds the stored runs that have ended. They are stored because reports may arrive late, and both the worker and
	// the city report an end.
	maxEnded = 500
	// maxCounted bounds the stored responses of a run.
	maxCounted = 1000
)

func newAggregator(began time.Time, of func(model string) string) *aggregator {
	return &aggregator{began: began, runs: map[string]*runState{}, usage: map[usageKey]*histogram{}, providerOf: of}
}

// telemetry returns the spans of the model responses and tool calls in a telemetry report.
func (f *aggregator) telemetry(run string, it *runState, t worker.Telemetry, e client.Event) []span {
	var out []span
	for _, turn := range t.Events {
		end := turn.Timestamp
		if end.IsZero() {
			end = e.Time
		}
		parent := session.SpanID(run)
		if turn.Usage != nil {
			s := f.chatSpan(run, it, turn, e, end)
			parent = s.SpanID
			out = append(out, s)
		}
		for i, call := range turn.ToolsCalled {
			s := span{
				TraceID: session.TraceID(run), SpanID: session.SpanID(run + " tool " + strconv.FormatUint(e.ID, 10) + " " + call.CallID + strconv.Itoa(i)), ParentID: parent, Kind: 1,
				Name: "execute_tool " + call.Name, Start: nanos(end.Add(-time.Duration(call.DurationMS) * time.Millisecond)), End: nanos(end),
				Attributes: append(it.commonAttributes(run, "execute_tool", e), attributes(map[string]string{"gen_ai.tool.name": call.Name, "gen_ai.tool.call.id": call.CallID})...),
			}
			if !call.Success {
				s.Status.Code = 2
				s.Attributes = append(s.Attributes, text("error.type", "tool"))
			}
			out = append(out, s)
		}
	}
	return out
}

// chatSpan returns the span of one response of a model.
func (f *aggregator) chatSpan(run string, it *runState, turn worker.TelemetryEvent, e client.Event, end time.Time) span {
	u := turn.Usage
	it.turns++
	if provider := cmp.Or(u.Provider, f.providerOf(u.Model)); provider != "" {
		it.provider = provider
	}
	name := cmp.Or(turn.MessageID, strconv.FormatUint(e.ID, 10)+"-"+strconv.Itoa(it.turns))
	start := it.busySince
	if start.IsZero() || start.After(end) {
		start = end
	}
	s := span{
		TraceID: session.TraceID(run), SpanID: session.SpanID(run + " turn " + name), ParentID: session.SpanID(run), Name: strings.TrimSpace("chat " + u.Model), Kind: 3,
		Start: nanos(start), End: nanos(end), Attributes: it.commonAttributes(run, "chat", e),
	}
	s.Attributes = append(s.Attributes, attributes(map[string]string{
		"gen_ai.request.model": u.Model, "gen_ai.response.model": u.Model, "gen_ai.response.id": turn.MessageID,
	})...)
	now := map[usageKey]int64{}
	for _, row := range []struct {
		key, kind string
		n         *int64
	}{
		{"gen_ai.usage.input_tokens", "input", allInput(u)},
		{"gen_ai.usage.output_tokens", "output", u.OutputTokens},
		{"gen_ai.usage.cache_read.input_tokens", "", u.CacheReadTokens},
		{"gen_ai.usage.cache_creation.input_tokens", "", u.CacheCreationTokens},
	} {
		if row.n == nil {
			continue // unknown is different from zero
		}
		s.Attributes = append(s.Attributes, number(row.key, *row.n))
		if row.kind != "" {
			now[usageKey{row.kind, it.provider, u.Model, it.agent}] = *row.n
		}
	}
	f.count(it, turn.MessageID, now)
	if u.CostUSD != nil {
		s.Attributes = append(s.Attributes, real("gascity.cost_usd", *u.CostUSD))
	}
	return s
}

// maxSeries bounds the number of histograms, because agents choose the names of models.
const maxSeries = 1000

// count adds the tokens of a response to the histograms. If the same response was counted before, it replaces the earlier
// values.
func (f *aggregator) count(it *runState, message string, now map[usageKey]int64) {
	for key, n := range it.counted[message] {
		f.observe(key, n, -1)
	}
	for key, n := range now {
		f.observe(key, n, 1)
	}
	switch {
	case message == "":
		return
	case it.counted == nil, len(it.counted) >= maxCounted && it.counted[message] == nil:
		it.counted = map[string]map[usageKey]int64{}
	}
	it.counted[message] = now
}

// observe adds a value to a histogram, by times: -1 removes it. A new histogram beyond maxSeries is ignored.
func (f *aggregator) observe(key usageKey, n, by int64) {
	h := f.usage[key]
	if h == nil {
		if by < 0 || len(f.usage) >= maxSeries {
			return
		}
		h = &histogram{counts: make([]int64, len(bounds())+1)}
		f.usage[key] = h
	}
	at, _ := slices.BinarySearch(bounds(), float64(n))
	h.counts[at] += by
	h.count += by
	h.sum += float64(n * by)
}

// allInput returns the number of all input tokens, including cached ones, as the conventions define it; nil if it is unknown.
func allInput(u *worker.Usage) *int64 {
	if u.InputTokens == nil || u.Semantics != "" && u.Semantics != worker.Disjoint {
		return u.InputTokens
	}
	n := *u.InputTokens
	for _, more := range []*int64{u.CacheReadTokens, u.CacheCreationTokens} {
		if more != nil {
			n += *more
		}
	}
	return &n
}

// tokenUsage returns the histograms of token counts under the name of the conventions; nil if there are none.
func (f *aggregator) tokenUsage(now time.Time) []instrument {
	set := &points{Temporality: 2}
	for key, h := range f.usage {
		sum := h.sum // the next event changes h.sum
		p := point{
			Start: nanos(f.began), Time: nanos(now), Count: strconv.FormatInt(h.count, 10), Sum: &sum, Bounds: bounds(),
			Attributes: attributes(map[string]string{
				"gen_ai.operation.name": "chat", "gen_ai.token.type": key.kind, "gen_ai.provider.name": key.provider, "gen_ai.request.model": key.model,
				"gen_ai.agent.name": key.agent,
			}),
		}
		for _, n := range h.counts {
			p.Counts = append(p.Counts, strconv.FormatInt(n, 10))
		}
		set.Points = append(set.Points, p)
	}
	if len(set.Points) == 0 {
		return nil
	}
	return []instrument{{Name: "gen_ai.client.token.usage", Unit: "{token}", Description: "Tokens of responses of models.", Histogram: set}}
}
