package workers_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/server/workerapi"
	"gascity/internal/service/workers"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/servicetest"
	"gascity/test/storetest"
	"gascity/worker"
)

// patience is the longest wait of a test for an expected event.
const patience = 30 * time.Second

// engineTest is a test of an engine whose controller can be killed. It has sessions of the fake provider, and
// a controller with an engine and a server.
type engineTest struct {
	testing.TB
	servicetest.Prompts
	agents *fake.Provider
	path   string
	opts   workers.Options

	mu          sync.Mutex
	controller  *controller
	worked      []string // reported by workers: receipt and instance
	hookReports []prompt.HookReport
	has         func(prompt string) bool // whether the worker has got a prompt; nil: not checked
	onPrompt    func()                   // called when the worker has got a prompt, before the acknowledgement
	onStart     func(env map[string]string)
	blind       atomic.Bool // Snapshot fails
	onNote      func()      // called after the run was saved in the metadata
}

// controller is one run of the city's controller.
type controller struct {
	test     *engineTest
	engine   *workers.Engine
	provider runtime.Provider
	life     context.Context //nolint:containedctx // the context of the process
	kill     func()
	settled  atomic.Bool
}

func newEngineTest(t testing.TB, edit func(*workers.Options)) *engineTest {
	t.Helper()
	dir, err := os.MkdirTemp("", "gcx") //nolint:usetesting // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	r := &engineTest{TB: t, agents: fake.New(), path: filepath.Join(dir, "w.sock")}
	r.opts = servicetest.WorkerOptions(nil, storetest.NewEvents(10_000, 0, time.Now)) // begin sets the city
	r.opts.Socket, r.opts.Prompts, r.opts.Owner = r.path, r, "owner-token"
	if edit != nil {
		edit(&r.opts)
	}
	r.begin()
	return r
}

// metaRecorder is the underlying provider. It reports when metadata was saved.
type metaRecorder struct {
	*fake.Provider
	test *engineTest
}

func (n metaRecorder) SetMeta(name, key, value string) error {
	err := n.Provider.SetMeta(name, key, value)
	n.test.mu.Lock()
	then := n.test.onNote
	n.test.mu.Unlock()
	if then != nil && key == workers.MetaRun {
		then()
	}
	return err
}

// Start starts the session. Its agent may report before the session is known to run.
func (n metaRecorder) Start(ctx context.Context, name string, cfg runtime.Config) error {
	err := n.Provider.Start(ctx, name, cfg)
	if n.test.onStart != nil {
		n.test.onStart(cfg.Env)
	}
	return err
}

// Settle implements runtime.Settler like a driver with an input log: a prompt that the driver never
// got is reported as not delivered.
func (n metaRecorder) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	if len(n.Provider.Calls("Deliver")) == 0 {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn}, nil
	}
	return runtime.Settle(ctx, n.Provider, name, d)
}

// killable is a listener whose connections close with it, as with the exit of a process.
type killable struct {
	net.Listener
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

func (k *killable) Accept() (net.Conn, error) {
	conn, err := k.Listener.Accept()
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		_ = conn.Close() // it came after kill
	}
	k.conns = append(k.conns, conn)
	return conn, nil
}

func (k *killable) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
	_ = k.Listener.Close() // the process is gone
	for _, conn := range k.conns {
		_ = conn.Close() // as above
	}
}

// begin starts a controller.
func (r *engineTest) begin() *controller {
	r.Helper()
	c := &controller{test: r}
	opts := r.opts
	opts.City = c
	c.engine = workers.New(opts)
	c.provider = c.engine.WrapProvider(metaRecorder{r.agents, r})
	plain, err := new(net.ListenConfig).Listen(r.Context(), "unix", r.path)
	if err != nil {
		r.Fatal(err)
	}
	l := &killable{Listener: plain}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	c.life = ctx
	server := workerapi.NewServer(c.engine, workerapi.Options{Heartbeat: 50 * time.Millisecond})
	var ended sync.WaitGroup
	ended.Go(func() { r.must(c.engine.Run(ctx)) })
	ended.Go(func() { _ = server.Run(ctx, l) }) // its listener was closed
	c.kill = sync.OnceFunc(func() { l.kill(); cancel() })
	r.Cleanup(func() { c.kill(); ended.Wait() })
	r.mu.Lock()
	r.controller = c
	r.mu.Unlock()
	names, err := r.agents.ListRunning("")
	r.must(err)
	for _, name := range names {
		c.engine.SessionChanged(name)
	}
	c.settled.Store(true)
	return c
}

func (r *engineTest) must(err error) {
	r.Helper()
	if err != nil {
		r.Error(err)
	}
}

// now returns the running controller.
func (r *engineTest) now() *controller {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.controller
}

// restart kills the controller and starts another one.
func (r *engineTest) restart() *controller {
	r.now().kill()
	return r.begin()
}

func (r *engineTest) Worked(_ context.Context, id, instance string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.worked = append(r.worked, id+" "+instance)
	return nil
}

func (r *engineTest) RecordHookReport(_ context.Context, w prompt.HookReport) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hookReports = append(r.hookReports, w)
	return nil
}

// controller implements workers.City.

func (c *controller) Snapshot(name string) (session.Snapshot, error) {
	if c.test.blind.Load() {
		return session.Snapshot{}, client.ErrUnavailable
	}
	obs, err := runtime.Observe(context.WithoutCancel(c.test.Context()), c.test.agents, name)
	if err != nil {
		return session.Snapshot{}, err
	}
	v := session.Snapshot{Session: name, Agent: name, Provider: c.provider}
	if obs.Session == runtime.Alive && obs.Agent != runtime.Dead {
		v.Token, v.Running = obs.InstanceToken, true
	}
	return v, nil
}

func (c *controller) Sense(string) {}

func (c *controller) HasSynced() bool { return c.settled.Load() }

// start starts a session and returns the environment of its agent.
func (r *engineTest) start(name, instance string) map[string]string {
	r.Helper()
	c := r.now()
	if err := c.provider.Start(r.Context(), name, config(name, instance)); err != nil {
		r.Fatal(err)
	}
	c.engine.SessionChanged(name)
	return r.environment(name)
}

func config(name, instance string) runtime.Config {
	return runtime.Config{Command: "agent", Env: map[string]string{"GC_INSTANCE_TOKEN": instance, "GC_AGENT": name}}
}

// environment returns the environment variables of the agent's last start.
func (r *engineTest) environment(name string) map[string]string {
	r.Helper()
	env := map[string]string(nil)
	for _, call := range r.agents.Calls("Relaunch", "Start") {
		if cfg, ok := call.Args[0].(runtime.Config); ok && call.Name == name {
			env = cfg.Env
		}
	}
	if env["GC_WORKER_TOKEN"] == "" || env["GC_WORKER_SOCKET"] != r.path || env["GC_RUN_ID"] == "" {
		r.Fatalf("the agent of %s does not get its city: %v", name, env)
	}
	return env
}

func clientOf(env map[string]string) *worker.Client {
	return &worker.Client{Socket: env["GC_WORKER_SOCKET"], Token: env["GC_WORKER_TOKEN"], RunID: env["GC_RUN_ID"]}
}

// agent is a worker that records the messages that it receives.
type agent struct {
	*worker.Client
	test   *engineTest
	cancel func()
	done   chan error // of its reader

	mu      sync.Mutex
	changed chan struct{}
	got     []worker.Message
	act     func(a *agent, m worker.Message) // nil: all messages are acknowledged as consumed
}

// work connects a worker that offers the given abilities, and reports ready.
func (r *engineTest) work(env map[string]string, act func(*agent, worker.Message), offers ...string) *agent {
	r.Helper()
	a := &agent{Client: clientOf(env), test: r, act: act, changed: make(chan struct{}), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	a.cancel = cancel
	r.must(a.Report(ctx, worker.Started, worker.Detail{Offers: offers}))
	r.must(a.Report(ctx, worker.Ready, worker.Detail{}))
	go func() {
		for m, err := range a.Messages(ctx) {
			if err != nil {
				a.done <- err
				return
			}
			a.handleMessage(ctx, m)
		}
		a.done <- nil
	}()
	r.Cleanup(func() { cancel(); a.Close() })
	r.eventually("the worker is connected", func() bool {
		h, err := r.owner().Health(ctx, env["GC_RUN_ID"])
		return err == nil && h.Status != worker.Degraded
	})
	return a
}

func (a *agent) handleMessage(ctx context.Context, m worker.Message) {
	a.mu.Lock()
	a.got = append(a.got, m)
	close(a.changed)
	a.changed = make(chan struct{})
	a.mu.Unlock()
	a.test.mu.Lock()
	then := a.test.onPrompt
	a.test.mu.Unlock()
	if then != nil && m.Kind == worker.PromptMessage {
		then()
	}
	switch {
	case a.act != nil:
		a.act(a, m)
	case m.Kind == worker.PromptMessage:
		_ = a.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Submitted}) // ends with the test
		_ = a.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Consumed})  // as above
	default:
		_ = a.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Consumed}) // as above
	}
}

// had returns the number of received messages by text.
func (a *agent) had(kind worker.MessageKind) []worker.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []worker.Message
	for _, m := range a.got {
		if m.Kind == kind {
			out = append(out, m)
		}
	}
	return out
}

func (a *agent) texts() map[string]int {
	out := map[string]int{}
	for _, m := range a.had(worker.PromptMessage) {
		var p worker.Prompt
		a.test.must(json.Unmarshal(m.Data, &p))
		out[p.Content]++
	}
	return out
}

// owner returns the client with the owner's token.
func (r *engineTest) owner() *worker.Client {
	return &worker.Client{Socket: r.path, Token: r.opts.Owner}
}

// eventually waits until a condition is true.
func (r *engineTest) eventually(what string, is func() bool) {
	r.Helper()
	end := time.Now().Add(patience)
	for !is() {
		if time.Now().After(end) {
			r.Fatalf("%s: not within %s", what, patience)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// within returns a context that ends after patience.
func (r *engineTest) within() context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	r.Cleanup(cancel)
	return ctx
}

func delivery(id, instance, text string) runtime.Delivery {
	return runtime.Delivery{ID: id, Instance: instance, Content: runtime.TextContent(text), Confirm: 2 * time.Second}
}

// deliver delivers a prompt as the prompt queue does. If the outcome of an attempt is unknown, it
// calls Settle. If the prompt certainly did not arrive, it tries again.
func (r *engineTest) deliver(d runtime.Delivery) runtime.Outcome {
	r.Helper()
	end := time.Now().Add(patience)
	settle := false
	for time.Now().Before(end) {
		c := r.now()
		do := runtime.Deliver
		if settle {
			do = runtime.Settle
		}
		out, err := do(c.life, c.provider, "a", d)
		switch {
		case c != r.now(): // it was killed: its requests have no effect
			settle = true
		case err != nil && !errors.Is(err, runtime.ErrSessionNotFound):
			r.Fatalf("deliver %s: %v", d.ID, err)
		case out.State == runtime.OutcomeRefused:
			if r.has != nil && r.has(d.ID) {
				r.Fatalf("the worker has prompt %s, and it is said that it never got it: %+v", d.ID, out)
			}
			settle = false
		case out.State == runtime.OutcomeUnconfirmed && (!settle || out.Reason != ""):
			settle = true
		default:
			return out
		}
		<-time.After(5 * time.Millisecond)
	}
	r.Fatalf("prompt %s: nothing came of it", d.ID)
	return runtime.Outcome{}
}
