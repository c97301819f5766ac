// Package metric writes metrics in the text format of Prometheus. It also provides histograms, because their values must be
// counted as they occur.
package metric

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

// Type is the type of a metric.
type Type string

// The types.
const (
	Counter      Type = "counter" // only increases, except when the process restarts
	Gauge        Type = "gauge"
	HistogramSet Type = "histogram"
)

// Family is one metric with the samples of all its labels.
type Family struct {
	Name, Help string
	Type       Type
	Samples    []Sample
}

// Sample is one value. Labels are pairs of name and value.
type Sample struct {
	Suffix string // suffix of the metric's name: "_sum", "_count", "_bucket"
	Labels []string
	Value  float64
}

// NewFamily returns a family with one value and no labels.
func NewFamily(t Type, name, help string, value float64) Family {
	return Family{Name: name, Help: help, Type: t, Samples: []Sample{{Value: value}}}
}

// Add adds a value. labels are pairs of name and value.
func (f *Family) Add(value float64, labels ...string) {
	f.Samples = append(f.Samples, Sample{Labels: labels, Value: value})
}

// Write writes the families to w, sorted by name.
func Write(w io.Writer, families []Family) error {
	out := bufio.NewWriter(w)
	sorted := slices.SortedStableFunc(slices.Values(families), func(a, b Family) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range sorted {
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", f.Name, help.Replace(f.Help), f.Name, f.Type)
		for _, s := range f.Samples {
			fmt.Fprintf(out, "%s%s%s %s\n", f.Name, s.Suffix, labels(s.Labels), number(s.Value))
		}
	}
	return out.Flush()
}

var (
	help  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	value = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// labels returns the labels in the text format.
func labels(pairs []string) string {
	if len(pairs) == 0 {
		return ""
	}
	var parts []string
	for pair := range slices.Chunk(pairs, 2) {
		parts = append(parts, pair[0]+`="`+value.Replace(strings.ToValidUTF8(pair[1], "�"))+`"`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// number returns a value in the text format.
func number(v float64) string {
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
func (h *Histogram) Family(name, help string) Family {
	f := Family{Name: name, Help: help, Type: HistogramSet}
	var total uint64
	for i := range h.counts {
		total += h.counts[i].Load()
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i].Seconds()
		}
		f.Samples = append(f.Samples, Sample{"_bucket", []string{"le", number(bound)}, float64(total)})
	}
	f.Samples = append(f.Samples, Sample{"_sum", nil, time.Duration(h.sum.Load()).Seconds()}, Sample{"_count", nil, float64(total)})
	return f
}
