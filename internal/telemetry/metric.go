package telemetry

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// MetricType is the type of a metric.
type MetricType string

// The types.
const (
	Counter      MetricType = "counter" // only increases, except when the process restarts
	Gauge        MetricType = "gauge"
	HistogramSet MetricType = "histogram"
)

// MetricFamily is one metric with the samples of all its labels.
type MetricFamily struct {
	Name, Help string
	Type       MetricType
	Samples    []MetricSample
}

// MetricSample is one value. Labels are pairs of name and value.
type MetricSample struct {
	Suffix string // suffix of the metric's name: "_sum", "_count", "_bucket"
	Labels []string
	Value  float64
}

// NewMetricFamily returns a family with one value and no labels.
func NewMetricFamily(t MetricType, name, help string, value float64) MetricFamily {
	return MetricFamily{Name: name, Help: help, Type: t, Samples: []MetricSample{{Value: value}}}
}

// Add adds a value. labels are pairs of name and value.
func (f *MetricFamily) Add(value float64, labels ...string) {
	f.Samples = append(f.Samples, MetricSample{Labels: labels, Value: value})
}

// WriteMetrics writes the families to w, sorted by name.
func WriteMetrics(w io.Writer, families []MetricFamily) error {
	out := bufio.NewWriter(w)
	sorted := slices.SortedStableFunc(slices.Values(families), func(a, b MetricFamily) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range sorted {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", f.Name, help.Replace(f.Help), f.Name, f.Type)
		for _, s := range f.Samples {
			fmt.Fprintf(out, "%s%s%s %s\n", f.Name, s.Suffix, formatLabels(s.Labels), formatNumber(s.Value))
		}
	}
	return out.Flush()
}

var (
	help       = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// formatLabels returns the labels in the text format.
func formatLabels(pairs []string) string {
	if len(pairs) == 0 {
		return ""
	}
	var parts []string
	for pair := range slices.Chunk(pairs, 2) {
		parts = append(parts, pair[0]+`="`+labelValue.Replace(strings.ToValidUTF8(pair[1], "�"))+`"`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// formatNumber returns a value in the text format.
func formatNumber(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Histogram counts durations. It is safe for concurrent use. Make one with [NewHistogram].
type Histogram struct {
	bounds []time.Duration
	counts []atomic.Uint64 // one for each bound, and one for greater values
	sum    atomic.Int64    // nanoseconds
}

// NewHistogram returns a histogram. bounds are the upper bounds of its buckets in ascending order.
func NewHistogram(bounds ...time.Duration) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe counts the duration d.
func (h *Histogram) Observe(d time.Duration) {
	at, _ := slices.BinarySearch(h.bounds, d)
	h.counts[at].Add(1)
	h.sum.Add(int64(d))
}

// Family returns the histogram as a metric in seconds.
func (h *Histogram) Family(name, help string) MetricFamily {
	f := MetricFamily{Name: name, Help: help, Type: HistogramSet}
	var total uint64
	for i := range h.counts {
		total += h.counts[i].Load()
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i].Seconds()
		}
		f.Samples = append(f.Samples, MetricSample{"_bucket", []string{"le", formatNumber(bound)}, float64(total)})
	}
	f.Samples = append(f.Samples, MetricSample{"_sum", nil, time.Duration(h.sum.Load()).Seconds()}, MetricSample{"_count", nil, float64(total)})
	return f
}
