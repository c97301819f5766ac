package telemetry

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
)

// The messages of OTLP in JSON form: IDs are hexadecimal, and 64-bit numbers are strings.
type (
	value struct {
		String *string  `json:"stringValue,omitempty"`
		Int    *string  `json:"intValue,omitempty"`
		Double *float64 `json:"doubleValue,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	status struct {
		Code    int    `json:"code,omitempty"` // 2 is an error
		Message string `json:"message,omitempty"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"` // 1 internal, 3 client
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Status     status      `json:"status"`
	}
	point struct {
		Attributes []attribute `json:"attributes"`
		Start      string      `json:"startTimeUnixNano,omitempty"`
		Time       string      `json:"timeUnixNano"`
		Double     *float64    `json:"asDouble,omitempty"`
		// only for histograms
		Count  string    `json:"count,omitempty"`
		Sum    *float64  `json:"sum,omitempty"`
		Counts []string  `json:"bucketCounts,omitempty"`
		Bounds []float64 `json:"explicitBounds,omitempty"`
	}
	points struct {
		Points      []point `json:"dataPoints"`
		Temporality int     `json:"aggregationTemporality,omitempty"` // 2 is cumulative
		Monotonic   bool    `json:"isMonotonic,omitempty"`
	}
	instrument struct {
		Name        string  `json:"name"`
		Description string  `json:"description,omitempty"`
		Unit        string  `json:"unit,omitempty"`
		Gauge       *points `json:"gauge,omitempty"`
		Sum         *points `json:"sum,omitempty"`
		Histogram   *points `json:"histogram,omitempty"`
	}
)

func text(key, s string) attribute { return attribute{key, value{String: &s}} }

func number(key string, n int64) attribute {
	s := strconv.FormatInt(n, 10)
	return attribute{key, value{Int: &s}}
}

func real(key string, f float64) attribute { return attribute{key, value{Double: &f}} }

// attributes returns the entries of a map that are not empty, sorted by key.
func attributes(of map[string]string) []attribute {
	out := []attribute{}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		if of[key] != "" {
			out = append(out, text(key, of[key]))
		}
	}
	return out
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// instruments converts families of metrics to OTLP. Histograms and samples that JSON cannot represent are skipped.
func instruments(families []MetricFamily, began, now time.Time) []instrument {
	var out []instrument
	for _, f := range families {
		if f.Type == HistogramSet {
			continue // the only histogram that is sent is tokenUsage
		}
		set := &points{}
		for _, s := range f.Samples {
			if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
				continue // JSON cannot represent the value
			}
			p := point{Time: nanos(now), Double: &s.Value, Attributes: []attribute{}}
			for pair := range slices.Chunk(s.Labels, 2) {
				p.Attributes = append(p.Attributes, text(pair[0], pair[1]))
			}
			set.Points = append(set.Points, p)
		}
		it := instrument{Name: f.Name, Description: f.Help, Gauge: set}
		if f.Type == Counter {
			set.Temporality, set.Monotonic = 2, true
			for i := range set.Points {
				set.Points[i].Start = nanos(began)
			}
			it.Gauge, it.Sum = nil, set
		}
		if len(set.Points) > 0 {
			out = append(out, it)
		}
	}
	return out
}
