package budgets_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	"gascity/internal/server/workerapi"
	"gascity/internal/service/budgets"
	"gascity/internal/service/prompts"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/servicetest"
	"gascity/test/storetest"
	"gascity/worker"
)

// patience is the longest wait of a test for an expected event.
const patience = 30 * time.Second

// wiredCity is a city of one session, with every engine between a worker and its prompts.
type wiredCity struct {
	agents   *fake.Provider
	provider runtime.Provider
	prompts  *prompts.Engine
	workers  *workers.Engine
	spending *budgets.Engine

	mu    sync.Mutex
	since time.Time
	last  runtime.Activity
}

// unread is the city as its workers see it: without a reading of the activity, which asks the workers.
type unread struct{ *wiredCity }

func (u unread) Snapshot(name string) (session.Snapshot, error) {
	seen, err := runtime.Observe(context.Background(), u.agents, name) //nolint:forbidigo // the method has no ctx
	return session.Snapshot{
		Session: name, Agent: name, Provider: u.provider, Desired: "running", State: session.StateRunning, Running: true, Ready: true,
		Token: seen.InstanceToken, Instance: session.PublicInstance(seen.InstanceToken), ReadAt: time.Now(),
	}, err
}

func (h *wiredCity) Snapshot(name string) (session.Snapshot, error) {
	v, err := unread{h}.Snapshot(name)
	if err != nil {
		return session.Snapshot{}, err
	}
	reading, err := runtime.Sense(context.Background(), h.provider, name) //nolint:forbidigo // the method has no ctx
	if err != nil {
		return v, nil // its activity is unknown
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range reading.Evidence {
		if e.Source == runtime.SourceWorker {
			if e.Activity != h.last {
				h.last, h.since = e.Activity, time.Now()
			}
			v.Activity = session.Activity{State: e.Activity, Source: e.Source, Since: h.since, Confidence: session.ConfidenceCertain}
		}
	}
	return v, nil
}

func (h *wiredCity) Snapshots() []session.Snapshot {
	v, err := h.Snapshot("a")
	if err != nil {
		return nil
	}
	return []session.Snapshot{v}
}

func (h *wiredCity) Sense(name string) {
	h.prompts.SessionChanged(name)
	h.spending.SessionChanged(name)
}

func (h *wiredCity) HasSynced() bool                               { return true }
func (h *wiredCity) WakeFor(context.Context, string, string) error { return nil }

func (h *wiredCity) Interrupt(ctx context.Context, name string, _ client.LifecycleRequest) (client.Done, error) {
	v, err := h.Snapshot(name)
	if err != nil {
		return client.Done{}, err
	}
	return client.Done{}, runtime.InterruptInstance(ctx, h.provider, name, v.Token)
}

func (h *wiredCity) Withhold(context.Context, string, string, time.Time) error { return nil }
func (h *wiredCity) Allow(context.Context, string, string) error               { return nil }

// open starts a city with a session and returns the client of its worker.
func open(t *testing.T, rules budgets.Rules) (*wiredCity, *worker.Client) {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcb") //nolint:usetesting // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "w.sock")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	h := &wiredCity{agents: fake.New()}
	kept := storetest.Memory(time.Now)
	h.spending = budgets.New(budgets.Options{
		City: h, Store: kept.Usage, Events: kept.Events, Rules: func() budgets.Rules { return rules }, Changed: func(name string) { h.prompts.SessionChanged(name) },
		Logger: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	forPrompts := servicetest.PromptOptions(kept.Receipts, h, kept.Events)
	forPrompts.PromptHold = h.spending.PromptHold
	h.prompts = prompts.New(forPrompts)
	opts := servicetest.WorkerOptions(unread{h}, kept.Events)
	opts.Socket, opts.Spend, opts.Owner = path, h.spending.Spend, "owner"
	h.workers = workers.New(opts)
	h.provider = h.workers.WrapProvider(h.agents)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	for _, run := range []func(context.Context) error{
		h.spending.Run, h.prompts.Run, h.workers.Run,
		func(ctx context.Context) error {
			return workerapi.NewServer(h.workers, workerapi.Options{}).Run(ctx, l)
		},
	} {
		ended.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		ended.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	cfg := runtime.Config{Command: "agent", Env: map[string]string{"GC_INSTANCE_TOKEN": "token of a", "GC_AGENT": "a"}}
	if err := h.provider.Start(t.Context(), "a", cfg); err != nil {
		t.Fatal(err)
	}
	h.workers.SessionChanged("a")
	for _, call := range h.agents.Calls("Start") {
		if cfg, ok := call.Args[0].(runtime.Config); ok {
			c := &worker.Client{Socket: cfg.Env["GC_WORKER_SOCKET"], Token: cfg.Env["GC_WORKER_TOKEN"], RunID: cfg.Env["GC_RUN_ID"]}
			t.Cleanup(c.Close)
			return h, c
		}
	}
	t.Fatal("nothing was started")
	return nil, nil
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			t.Fatalf("not so in time: %s", what)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// ledger records what a worker really did.
type ledger struct {
	mu          sync.Mutex
	prompts     []string
	interrupted int
}

func (l *ledger) count() (prompts, interrupts int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.prompts), l.interrupted
}

// work answers prompts by turn, until the test ends.
func (l *ledger) work(t *testing.T, c *worker.Client, turn func(ctx context.Context, id string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	t.Cleanup(func() { cancel(); ended.Wait() })
	for _, report := range []worker.Transition{worker.Started, worker.Ready} {
		if err := c.Report(ctx, report, worker.Detail{Offers: []string{worker.OfferInterrupt}}); err != nil {
			t.Fatal(err)
		}
	}
	ended.Go(func() {
		for m, err := range c.Messages(ctx) {
			if err != nil {
				return
			}
			l.mu.Lock()
			switch m.Kind {
			case worker.PromptMessage:
				l.prompts = append(l.prompts, m.ID)
			case worker.InterruptMessage:
				l.interrupted++
			default:
			}
			l.mu.Unlock()
			if m.Kind == worker.PromptMessage {
				ended.Go(func() { turn(ctx, m.ID) })
				continue
			}
			_ = c.Report(ctx, worker.Idle, worker.Detail{})              // ends with the test
			_ = c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Consumed}) // as above
		}
	})
	owner := &worker.Client{Socket: c.Socket, Token: "owner"}
	t.Cleanup(owner.Close)
	eventually(t, "the worker is connected", func() bool {
		health, err := owner.Health(ctx, c.RunID)
		return err == nil && health.Status != worker.Degraded
	})
}

func sendTurnComplete(ctx context.Context, c *worker.Client, message string, output int64) error {
	_, err := c.Telemetry(ctx, worker.TelemetryEvent{
		Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: message, Usage: &worker.Usage{Model: "m", OutputTokens: &output},
	})
	return err
}

func (h *wiredCity) queue(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		if _, err := h.prompts.Nudge(t.Context(), "a", client.NudgeRequest{Text: fmt.Sprint("prompt ", i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBudgetOfAFastWorker has a worker that uses tokens quickly, prompt after prompt . After
// the report that uses up the budget no prompt follows.
func TestBudgetOfAFastWorker(t *testing.T) {
	const each, limit = 100, 1000
	h, c := open(t, budgets.Rules{Budgets: []usage.Budget{{
		Name: "hour", Scope: usage.ScopeAgent, Measure: usage.MeasureTokens, Limit: limit, Window: time.Hour, Act: usage.ActHold,
	}}})
	var did ledger
	did.work(t, c, func(ctx context.Context, id string) {
		_ = c.Report(ctx, worker.Busy, worker.Detail{PromptID: id}) // ends with the test
		_ = c.Ack(ctx, worker.Ack{ID: id, State: worker.Submitted}) // as above
		for i := range 5 {
			_ = sendTurnComplete(ctx, c, fmt.Sprint(id, i), each) // as above
		}
		_ = c.Report(ctx, worker.Idle, worker.Detail{PromptID: id}) // as above
		_ = c.Ack(ctx, worker.Ack{ID: id, State: worker.Consumed})  // as above
	})
	h.queue(t, 20)
	eventually(t, "the budget is used up", func() bool {
		uses, err := h.spending.Budgets(t.Context())
		return err == nil && len(uses) == 1 && uses[0].Over
	})
	eventually(t, "the prompts say what they wait for", func() bool {
		queue, err := h.prompts.Queue(t.Context(), "a", client.OnlyOpen)
		return err == nil && len(queue) == 18 && strings.Contains(queue[0].Reason, "budget hour: 1,000 of 1,000 tokens")
	})
	h.prompts.SessionChanged("a")
	quiet := time.After(500 * time.Millisecond)
	<-quiet
	if got, _ := did.count(); got != limit/each/5 {
		t.Errorf("the worker got %d prompts, want %d and none after the budget was used up", got, limit/each/5)
	}
}

// TestBudgetOfASilentWorker stops the reports while the worker is busy. The turn is interrupted by
// the worker's stream, and no prompt follows when the worker is idle.
func TestBudgetOfASilentWorker(t *testing.T) {
	h, c := open(t, budgets.Rules{Budgets: []usage.Budget{{
		Name: "hour", Scope: usage.ScopeAgent, Measure: usage.MeasureTokens, Limit: 1e9, Window: time.Hour, Act: usage.ActInterrupt, Silence: 300 * time.Millisecond,
	}}})
	var did ledger
	did.work(t, c, func(ctx context.Context, id string) {
		_ = c.Report(ctx, worker.Busy, worker.Detail{PromptID: id}) // ends with the test
		_ = c.Ack(ctx, worker.Ack{ID: id, State: worker.Submitted}) // as above
		_ = sendTurnComplete(ctx, c, id, 1)                         // and never again
	})
	h.queue(t, 5)
	eventually(t, "the turn is interrupted", func() bool { _, n := did.count(); return n > 0 })
	eventually(t, "the prompts say what they wait for", func() bool {
		queue, err := h.prompts.Queue(t.Context(), "a", client.OnlyOpen)
		return err == nil && len(queue) == 4 && strings.Contains(queue[0].Reason, "without a usage report")
	})
	quiet := time.After(time.Second) // longer than the allowed silence
	<-quiet
	if prompts, interrupts := did.count(); prompts != 1 || interrupts != 1 {
		t.Errorf("the worker got %d prompts and %d interrupts, want one of each", prompts, interrupts)
	}
	if err := sendTurnComplete(t.Context(), c, "late", 1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a worker that reports again gets prompts", func() bool { n, _ := did.count(); return n == 2 })
}
