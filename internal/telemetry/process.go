package telemetry

import (
	"maps"
	"slices"
	"syscall"
	"time"
)

// GaugeByLabel returns a gauge that has one sample for each key of counts. The key is the value of label.
func GaugeByLabel(name, help, label string, counts map[string]int) MetricFamily {
	f := MetricFamily{Name: name, Help: help, Type: Gauge}
	for _, value := range slices.Sorted(maps.Keys(counts)) {
		f.Add(float64(counts[value]), label, value)
	}
	return f
}

// ProcessMetrics returns the processor time of this process and of the child processes that it has waited for.
func ProcessMetrics(name string) []MetricFamily {
	f := MetricFamily{Name: name, Help: "Processor time, of the controller itself and of the programs that it ran.", Type: Counter}
	for _, of := range []struct {
		who  int
		name string
	}{{syscall.RUSAGE_SELF, "controller"}, {syscall.RUSAGE_CHILDREN, "programs"}} {
		var u syscall.Rusage
		if syscall.Getrusage(of.who, &u) == nil {
			f.Add(time.Duration(u.Utime.Nano()+u.Stime.Nano()).Seconds(), "of", of.name)
		}
	}
	return []MetricFamily{f}
}
