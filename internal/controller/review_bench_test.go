package controller

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"gascity/internal/config"
	"gascity/runtime"
)

// BenchmarkActivityChange changes the activity of one agent of a large city after the other, and
// reports the processor time of a change, from the output to the snapshot.
func BenchmarkActivityChange(b *testing.B) {
	for _, sessions := range []int{10, 1000} {
		b.Run(fmt.Sprint(sessions), func(b *testing.B) { benchmarkActivityChange(b, sessions) })
	}
}

func benchmarkActivityChange(b *testing.B, sessions int) {
	w := newTestCity(nil, names(sessions))
	w.settings = config.Daemon{MaxWakesPerTick: 50, ProbeConcurrency: 50, PatrolInterval: time.Hour}
	for _, name := range names(sessions) {
		w.provider.setActivity("gc-town-"+name, runtime.ActivityIdle)
	}
	seen := make(chan string, 100_000)
	w.change = func(o *Options) { o.Changed = func(name string) { seen <- name } }
	ctx, cancel := context.WithCancel(b.Context())
	c, err := Open(ctx, w.options())
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	await := func(name string, want runtime.Activity) {
		limit := time.After(time.Minute)
		for {
			if v, err := c.Snapshot(name); err == nil && v.Ready && v.Activity.State == want {
				return
			}
			select {
			case <-seen:
			case <-limit:
				v, err := c.Snapshot(name)
				b.Fatalf("%s never was %s: %+v, %v", name, want, v, err)
			}
		}
	}
	for _, name := range names(sessions) {
		await("gc-town-"+name, runtime.ActivityIdle)
	}
	<-time.After(senseGap) // the readings after the starts are done
	words, edges := []runtime.Activity{runtime.ActivityBusy, runtime.ActivityIdle}, 0
	began := processorTime(b)
	for b.Loop() {
		name, word := fmt.Sprintf("gc-town-a%03d", edges%sessions), words[edges/sessions%2]
		w.provider.setActivity(name, word)
		await(name, word)
		edges++
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(edges)/1e3, "cpu-µs/edge")
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
