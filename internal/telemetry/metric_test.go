package telemetry_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/telemetry"
)

func TestTextFormat(t *testing.T) {
	hist := telemetry.NewHistogram(time.Millisecond, time.Second)
	for _, d := range []time.Duration{500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, time.Minute} {
		hist.Observe(d)
	}
	states := telemetry.MetricFamily{Name: "z_sessions", Help: "Sessions by\nstate.", Type: telemetry.Gauge}
	states.Add(2, "state", "running")
	states.Add(0.5, "agent", "a\"b\\c\nd", "model", "m\xff")
	var out strings.Builder
	if err := telemetry.WriteMetrics(&out, []telemetry.MetricFamily{states, telemetry.NewMetricFamily(telemetry.Counter, "a_total", "All.", 12345678), hist.Family("h_seconds", "Time.")}); err != nil {
		t.Fatal(err)
	}
	want := `# HELP a_total All.
# TYPE a_total counter
a_total 1.2345678e+07
# HELP h_seconds Time.
# TYPE h_seconds histogram
h_seconds_bucket{le="0.001"} 2
h_seconds_bucket{le="1"} 3
h_seconds_bucket{le="+Inf"} 4
h_seconds_sum 60.0035
h_seconds_count 4
# HELP z_sessions Sessions by\nstate.
# TYPE z_sessions gauge
z_sessions{state="running"} 2
z_sessions{agent="a\"b\\c\nd",model="m�"} 0.5
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHistogramLosesNothing(t *testing.T) {
	h := telemetry.NewHistogram(time.Millisecond)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				h.Observe(time.Microsecond)
			}
		})
	}
	all.Wait()
	f := h.Family("h", "")
	if got := f.Samples[len(f.Samples)-1].Value; got != 4000 {
		t.Errorf("counted %v of 4000", got)
	}
}
