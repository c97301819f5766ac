package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gcclient "gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/server/workerapi"
	workerservice "gascity/internal/service/workers"
	"gascity/internal/store"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/servicetest"
	"gascity/worker"
)

// manySessions is a city of many sessions.
type manySessions struct{ place runtime.Provider }

func (c manySessions) Snapshot(name string) (session.Snapshot, error) {
	return session.Snapshot{Agent: name, Session: name, Provider: c.place, Running: true, Token: "instance-of-" + name}, nil
}
func (manySessions) Sense(string)    {}
func (manySessions) HasSynced() bool { return true }

// fakeWithoutCalls is a place that keeps the notes of its sessions, and not, as the fake does, a
// record of each call with the text of each note.
type fakeWithoutCalls struct {
	*fake.Provider

	mu    sync.Mutex
	notes map[[2]string]string
}

func (f *fakeWithoutCalls) SetMeta(name, key, value string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes[[2]string{name, key}] = value
	return nil
}

func (f *fakeWithoutCalls) GetMeta(name, key string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notes[[2]string{name, key}], nil
}

// size returns a number of the environment, or the one for every day.
func size(t *testing.T, name string, usual int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return usual
	}
	return n
}

// load is a city with connected workers over a real store.
type load struct {
	*testing.T
	socket  string
	engine  *workerservice.Engine
	db      *store.DB
	place   runtime.Provider
	turns   int
	since   time.Time    // the workers have been connected
	rate    int          // of prompts in a second; zero: as many as can be
	begun   atomic.Int64 // prompts
	retried atomic.Int64 // prompts that were not taken at once

	mu   sync.Mutex
	took map[string][]time.Duration
}

// TestLoad is a day of connected workers without the waiting: each has a prompt every
// half hour, asks for a tool, and reports what the turn used. Nothing may be lost: each
// prompt is consumed once, each report is in the time line once. Nothing may grow: with
// the same workers the last third of the day takes no more memory than the middle one,
// but 1 KiB a turn at most, for what is remembered of the newest prompts.
// GC_LOAD_WORKERS and GC_LOAD_TURNS set the size; 1000 and 48 are the day at full size.
// Each worker has its next prompt when it is done with the last one; with GC_LOAD_RATE
// there are that many prompts a second, done or not. With GC_LOAD_PROFILES, a folder,
// the heap of each third is written there.
func TestLoad(t *testing.T) {
	workers := size(t, "GC_LOAD_WORKERS", 100)
	l := newLoad(t, size(t, "GC_LOAD_TURNS", 18), workers)
	began := time.Now()
	heaps := l.day(workers)
	spent := time.Since(began)
	l.account(workers)
	calls := 0
	for _, took := range l.took {
		calls += len(took)
	}
	t.Logf("%d workers, %d turns each, %s, %.0f calls/s; %d deliveries tried again", workers, l.turns, spent.Round(time.Millisecond), float64(calls)/spent.Seconds(), l.retried.Load())
	t.Logf("heap with all clients, connected: %d KiB; after each third: %d KiB", heaps[0]>>10, []uint64{heaps[1] >> 10, heaps[2] >> 10, heaps[3] >> 10})
	for _, name := range slices.Sorted(maps.Keys(l.took)) {
		t.Logf("%-10s %7d calls, p50 %8s, p99 %8s", name, len(l.took[name]), quantile(l.took[name], 50).Round(10*time.Microsecond), quantile(l.took[name], 99).Round(10*time.Microsecond))
	}
	turns := uint64(workers * (l.turns - l.turns*2/3)) //nolint:gosec // positive
	if most := heaps[2] + min(heaps[2]/10+4<<20, turns<<10+512<<10); heaps[3] > most {
		t.Errorf("the heap grows: %d bytes after two thirds, %d at the end, at most %d", heaps[2], heaps[3], most)
	}
}

func heap() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// noQueue is the prompt queue of a city whose prompts come from the test itself.
type noQueue struct{}

func (noQueue) Nudge(context.Context, string, gcclient.NudgeRequest) (gcclient.Receipt, error) {
	return gcclient.Receipt{}, gcclient.ErrUnsupported
}

func (noQueue) Worked(context.Context, string, string) error { return nil }

func (noQueue) RecordHookReport(context.Context, prompt.HookReport) error { return nil }

func newLoad(t *testing.T, turns, workers int) *load {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcl") //nolint:usetesting // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "store.db"), Retain: store.Retention{Events: 10_000_000, Bytes: 16 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	below := &fakeWithoutCalls{Provider: fake.New(), notes: map[[2]string]string{}}
	l := &load{T: t, db: db, socket: filepath.Join(dir, "w.sock"), turns: turns, rate: size(t, "GC_LOAD_RATE", 0), took: map[string][]time.Duration{}}
	for _, name := range []string{"deliver", "lifecycle", "ack", "authorize", "telemetry"} {
		l.took[name] = make([]time.Duration, 0, 2*turns*workers)
	}
	city := &manySessions{}
	opts := servicetest.WorkerOptions(city, db)
	opts.Socket, opts.Owner, opts.Prompts = l.socket, "owner", noQueue{}
	l.engine = workerservice.New(opts)
	l.place = l.engine.WrapProvider(below)
	city.place = l.place
	for i := range workers {
		name := fmt.Sprint("w", i)
		if err := l.place.Start(t.Context(), name, runtime.Config{Command: "x", Env: map[string]string{"GC_INSTANCE_TOKEN": "instance-of-" + name}}); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", l.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := workerapi.NewServer(l.engine, workerapi.Options{}).Run(ctx, listener); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		ended.Wait()
		if err := errors.Join(db.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return l
}

// timed records how long a call took.
func (l *load) timed(name string, do func() error) error {
	began := time.Now()
	err := do()
	took := time.Since(began)
	l.mu.Lock()
	l.took[name] = append(l.took[name], took)
	l.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// day has all workers connected and do their turns, and returns the heap while they are:
// when they have connected, and after each third.
func (l *load) day(workers int) (heaps [4]uint64) {
	l.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.Context()), 20*time.Minute)
	defer cancel()
	var connected sync.WaitGroup
	done := make([]chan string, workers)
	for i := range done {
		done[i] = make(chan string, 1)
		connected.Go(func() { l.work(ctx, fmt.Sprint("w", i), done[i]) })
	}
	for i := range done {
		if err := l.reachable(ctx, session.RunID(fmt.Sprint("instance-of-w", i))); err != nil {
			l.Fatal(err)
		}
	}
	heaps[0] = l.heap(0)
	l.since = time.Now()
	for third := range 3 {
		var working sync.WaitGroup
		for i := range done {
			name := fmt.Sprint("w", i)
			working.Go(func() {
				for n := l.turns * third / 3; n < l.turns*(third+1)/3; n++ {
					if err := l.prompt(ctx, name, fmt.Sprint(name, "-p", n), done[i]); err != nil {
						l.Errorf("%s: turn %d: %v", name, n, err)
						return
					}
				}
			})
		}
		working.Wait()
		l.written(ctx)
		heaps[third+1] = l.heap(third + 1)
	}
	cancel()
	connected.Wait()
	return heaps
}

// written waits until the store has written the events of the turns. On a busy machine the writer is
// far behind, and what waits for it is in memory. Each change lets it write 500 events.
func (l *load) written(ctx context.Context) {
	l.Helper()
	for range 40 {
		p := session.Pending{ID: "q-written", Session: "w0"}
		if err := errors.Join(l.db.SavePending(ctx, p), l.db.RemovePending(ctx, p.ID)); err != nil {
			l.Fatal(err)
		}
	}
}

// heap returns what is in use, written down too if somebody wants to look at it.
func (l *load) heap(third int) uint64 {
	l.Helper()
	used := heap()
	if dir := os.Getenv("GC_LOAD_PROFILES"); dir != "" {
		out, err := os.Create(filepath.Join(dir, fmt.Sprintf("heap%d.pprof", third)))
		if err == nil {
			err = errors.Join(pprof.WriteHeapProfile(out), out.Close())
		}
		if err != nil {
			l.Error(err)
		}
	}
	return used
}

// reachable waits until the worker of a run has its stream.
func (l *load) reachable(ctx context.Context, id string) error {
	for {
		h, err := l.engine.Health(ctx, id)
		if err == nil && h.Status != worker.Degraded {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
			l.retried.Add(1)
		}
	}
}

// prompt sends a prompt, again until the worker has it, and waits for its turn's end.
func (l *load) prompt(ctx context.Context, name, id string, done <-chan string) error {
	d := runtime.Delivery{ID: id, Instance: "instance-of-" + name, Content: runtime.TextContent("review " + id), Confirm: time.Minute}
	if err := l.reachable(ctx, session.RunID(d.Instance)); err != nil {
		return err
	}
	if err := l.turnOf(ctx); err != nil {
		return err
	}
	if err := l.timed("deliver", func() error { _, err := runtime.Deliver(ctx, l.place, name, d); return err }); err != nil {
		return err
	}
	select {
	case got := <-done:
		if got != id {
			return fmt.Errorf("it worked on %s, must be %s", got, id)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turnOf waits until it is time for the next prompt.
func (l *load) turnOf(ctx context.Context) error {
	if l.rate == 0 {
		return nil
	}
	at := l.since.Add(time.Duration(l.begun.Add(1)) * time.Second / time.Duration(l.rate))
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// work is a worker until ctx ends.
func (l *load) work(ctx context.Context, name string, done chan<- string) {
	instance := "instance-of-" + name
	c := &worker.Client{Socket: l.socket, Token: session.WorkerToken(instance, 0), RunID: session.RunID(instance)}
	defer c.Close()
	if err := errors.Join(c.Report(ctx, worker.Started, worker.Detail{}), c.Report(ctx, worker.Ready, worker.Detail{})); err != nil {
		l.Errorf("%s: %v", name, err)
		return
	}
	for m, err := range c.Messages(ctx) {
		if err == nil && m.Kind == worker.PromptMessage {
			err = l.turn(ctx, c, m)
		}
		if err != nil {
			l.Errorf("%s: %v", name, err)
			return
		}
		done <- m.ID
	}
}

func (l *load) turn(ctx context.Context, c *worker.Client, m worker.Message) error {
	tokens := int64(1000)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"lifecycle", func() error { return c.Report(ctx, worker.Busy, worker.Detail{PromptID: m.ID}) }},
		{"ack", func() error { return c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Submitted}) }},
		{"authorize", func() error {
			d, err := c.Authorize(ctx, worker.Call{ID: m.ID, Tool: "Bash", Input: json.RawMessage(`{"command":"git status"}`)})
			if err == nil && !d.Allowed {
				err = errors.New(d.Reason)
			}
			return err
		}},
		{"telemetry", func() error {
			_, err := c.Telemetry(ctx, worker.TelemetryEvent{Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: m.ID, Usage: &worker.Usage{InputTokens: &tokens, Model: "m"}})
			return err
		}},
		{"lifecycle", func() error { return c.Report(ctx, worker.Idle, worker.Detail{PromptID: m.ID}) }},
		{"ack", func() error { return c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Consumed}) }},
	} {
		if err := l.timed(step.name, step.do); err != nil {
			return err
		}
	}
	return nil
}

// account searches for every report in the time line.
func (l *load) account(workers int) {
	l.Helper()
	got := map[string]int{}
	for after, more := uint64(0), true; more; {
		page, err := l.engine.Events(context.WithoutCancel(l.Context()), "", after, 1000)
		if err != nil {
			l.Fatal(err)
		}
		for _, e := range page {
			var body struct {
				Event    string `json:"event"`
				Metadata struct {
					PromptID string `json:"prompt_id"`
				} `json:"metadata"`
				Events []worker.TelemetryEvent `json:"events"`
			}
			if err := json.Unmarshal(e.Data, &body); err != nil && len(e.Data) > 0 {
				l.Error(err)
			}
			switch {
			case body.Metadata.PromptID != "":
				got[body.Event+" "+body.Metadata.PromptID]++
			case len(body.Events) == 1:
				got["telemetry "+body.Events[0].MessageID]++
			default:
				got[e.Kind+" "+e.RunID]++
			}
			after = e.Seq
		}
		more = len(page) > 0
	}
	lost := 0
	for i := range workers {
		for n := range l.turns {
			for _, what := range []string{"busy", "idle", "telemetry"} {
				if got[fmt.Sprintf("%s w%d-p%d", what, i, n)] != 1 {
					lost++
				}
			}
		}
		if id := session.RunID(fmt.Sprint("instance-of-w", i)); got["authorize "+id] != l.turns {
			lost++
			l.Logf("%d decisions of w%d are recorded", got["authorize "+id], i)
		}
	}
	if lost > 0 {
		l.Errorf("%d reports are not in the time line once", lost)
	}
}
