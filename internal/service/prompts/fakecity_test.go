package prompts_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/service/prompts"
	"gascity/runtime"
)

// agent is a scripted agent with a ledger of the prompts that it really accepted. Its terminal is
// a line in which a text may be left.
type agent struct {
	undecided   int // how often the outcome of a text is not known yet
	mu          sync.Mutex
	name        string
	view        session.Snapshot
	ledger      []string
	line        string
	epoch       int
	woken       int
	interrupted int
	byTyping    func() (why string, forGood bool)                                         // why its prompts are typed; nil: they are not
	opens       bool                                                                      // it may begin with the prompt of its command line
	settled     *runtime.Outcome                                                          // what Settle answers; nil: what it finds
	promptHold  string                                                                    // why it gets nothing
	typed       time.Time                                                                 // by a person; the view does not know
	deliver     func(ctx context.Context, a *agent, text string) (runtime.Outcome, error) // nil: taken at once
}

func token(name string, epoch int) string { return fmt.Sprintf("token-%s-%d", name, epoch) }

func newAgent(name string) *agent {
	a := &agent{name: name, view: session.Snapshot{Agent: name, Session: "s-" + name, Desired: "running"}}
	a.start()
	return a
}

// start starts another instance.
func (a *agent) start() {
	a.epoch++
	a.line = ""
	t := token(a.name, a.epoch)
	a.view.State, a.view.Running, a.view.Ready = client.StateRunning, true, true
	a.view.Token, a.view.Instance = t, session.PublicInstance(t)
	a.view.Activity = session.Activity{State: runtime.ActivityReady}
}

func (a *agent) end(state session.State) {
	a.view.State, a.view.Running, a.view.Ready, a.view.Token, a.view.Instance = state, false, false, "", ""
}

func (a *agent) accept(text string) runtime.Outcome {
	a.ledger = append(a.ledger, text)
	return runtime.Outcome{State: runtime.OutcomeSubmitted, Evidence: "composer_emptied+busy"}
}

// fakeCity is the controller of some agents and their provider, for one run of an engine. After
// kill it does nothing, like a killed process.
type fakeCity struct {
	runtime.Provider
	agents map[string]*agent
	engine *prompts.Engine
	watch  func(d runtime.Delivery) // sees what is handed over; nil: no call

	mu   sync.Mutex // held while something takes effect
	dead bool
}

var errDead = errors.New("the process is dead")

func (w *fakeCity) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

// effect calls do unless the process was killed.
func (w *fakeCity) effect(do func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return errDead
	}
	return do()
}

func (w *fakeCity) find(name string) *agent {
	for _, a := range w.agents {
		if a.name == name || a.view.Session == name {
			return a
		}
	}
	return nil
}

func (w *fakeCity) Snapshot(name string) (session.Snapshot, error) {
	a := w.find(name)
	if a == nil {
		return session.Snapshot{}, fmt.Errorf("%w: %s", client.ErrNotFound, name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	v := a.view
	v.Provider = w
	return v, nil
}

func (w *fakeCity) promptHold(v session.Snapshot) string {
	a := w.find(v.Session)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.promptHold
}

func (w *fakeCity) typed(v session.Snapshot) (why string, forGood bool) {
	a := w.find(v.Session)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byTyping == nil {
		return "", false
	}
	return a.byTyping()
}

func (w *fakeCity) opens(v session.Snapshot) bool {
	a := w.find(v.Session)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.opens
}

func (w *fakeCity) WakeFor(_ context.Context, name, _ string) error {
	w.edit(name, func(a *agent) {
		a.woken++
		a.start()
	})
	return nil
}

// Sense reads the agent: what it does has been so for a while.
func (w *fakeCity) Sense(name string) {
	a := w.find(name)
	a.mu.Lock()
	blind := a.view.ReadAt.IsZero()
	a.mu.Unlock()
	if !blind {
		w.edit(name, func(a *agent) { a.view.ReadAt = time.Now() })
	}
}

// edit changes an agent and notifies the engine.
func (w *fakeCity) edit(name string, do func(*agent)) {
	a := w.find(name)
	a.mu.Lock()
	do(a)
	s := a.view.Session
	a.mu.Unlock()
	w.engine.SessionChanged(s)
}

func (w *fakeCity) Deliver(ctx context.Context, name string, d runtime.Delivery) (out runtime.Outcome, err error) {
	a := w.find(name)
	a.mu.Lock()
	do := a.deliver
	current, runs := a.view.Token, a.view.Running
	a.mu.Unlock()
	switch {
	case !runs:
		return runtime.Outcome{State: runtime.OutcomeAbsent}, nil
	case d.Instance != current:
		return runtime.Outcome{State: runtime.OutcomeAbsent}, &runtime.Error{Op: "deliver", Session: name, Err: runtime.ErrStaleInstance}
	}
	if w.watch != nil {
		w.watch(d)
	}
	text := runtime.FlattenText(d.Content)
	if do != nil {
		return do(ctx, a, text)
	}
	err = w.effect(func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		out = a.accept(text)
		return nil
	})
	return out, err
}

func (w *fakeCity) Withdraw(_ context.Context, name string, d runtime.Delivery) (proof bool, err error) {
	a := w.find(name)
	err = w.effect(func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if d.Instance != a.view.Token || a.line == "" || a.line != runtime.FlattenText(d.Content) {
			return nil
		}
		a.line, proof = "", true
		return nil
	})
	return proof, err
}

// Settle is Withdraw, but does not know the outcome yet as long as the agent
// says so.
func (w *fakeCity) Settle(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	a := w.find(name)
	a.mu.Lock()
	a.undecided--
	later, settled := a.undecided >= 0, a.settled
	a.mu.Unlock()
	if settled != nil {
		return *settled, nil
	}
	if later {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed, Reason: runtime.RefusedTyping}, nil
	}
	proof, err := w.Withdraw(ctx, name, d)
	if proof && err == nil {
		return runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn}, nil
	}
	return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
}

func (w *fakeCity) InterruptInstance(_ context.Context, name, _ string) error {
	return w.effect(func() error {
		a := w.find(name)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.interrupted++
		a.view.Activity = session.Activity{State: runtime.ActivityIdle}
		return nil
	})
}

func (w *fakeCity) Observe(_ context.Context, name string) (runtime.Observation, error) {
	a := w.find(name)
	a.mu.Lock()
	defer a.mu.Unlock()
	return runtime.Observation{Attached: a.view.Attached, LastInput: a.typed, At: time.Now()}, nil
}

func (w *fakeCity) StopInstance(context.Context, string, string) error { return errors.ErrUnsupported }

func (w *fakeCity) WaitForIdle(context.Context, string, time.Duration) error { return nil }

// killableStore is a store whose calls fail when the process is dead.
type killableStore struct {
	prompt.Store
	city *fakeCity
}

func (m killableStore) AddReceipt(ctx context.Context, r prompt.Receipt) (kept prompt.Receipt, known bool, err error) {
	err = m.city.effect(func() error { kept, known, err = m.Store.AddReceipt(ctx, r); return err })
	return kept, known, err
}

func (m killableStore) SaveReceipt(ctx context.Context, r prompt.Receipt) error {
	return m.city.effect(func() error { return m.Store.SaveReceipt(ctx, r) })
}

// rig is an engine with a store that survives it.
type rig struct {
	*testing.T
	*fakeCity
	store  prompt.Store
	texts  prompts.TextFiles // nil: agents are given no files
	events *event.Memory
	stop   context.CancelFunc
	ended  chan struct{}
}

// inBubble runs a test with virtual time over the given agents.
func inBubble(t *testing.T, do func(r *rig), agents ...*agent) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, store: &prompt.Memory{}, events: event.NewMemory(100_000, 0, time.Now), fakeCity: &fakeCity{agents: map[string]*agent{}}}
		for _, a := range agents {
			r.agents[a.name] = a
		}
		r.run()
		defer func() { r.stop(); <-r.ended }()
		do(r)
	})
}

// run starts an engine and waits until it is idle.
func (r *rig) run() {
	r.begin()
	synctest.Wait()
}

// begin starts an engine.
func (r *rig) begin() {
	w := &fakeCity{agents: r.agents}
	w.engine = prompts.New(prompts.Options{Store: killableStore{r.store, w}, City: w, Events: r.events, PromptHold: w.promptHold, Opens: w.opens, Typed: w.typed, Texts: r.texts})
	r.fakeCity = w
	ctx, stop := context.WithCancel(r.Context())
	ended := make(chan struct{})
	r.stop, r.ended = stop, ended
	go func() {
		defer close(ended)
		if err := w.engine.Run(ctx); err != nil {
			r.Errorf("Run: %v", err)
		}
	}()
}

// crash kills the engine and starts another one.
func (r *rig) crash() {
	r.kill()
	r.stop()
	<-r.ended
	r.run()
}

func (r *rig) send(name, text string, edit ...func(*client.NudgeRequest)) client.Receipt {
	r.Helper()
	req := client.NudgeRequest{Text: text}
	for _, e := range edit {
		e(&req)
	}
	got, err := r.engine.Nudge(r.Context(), name, req)
	if err != nil {
		r.Fatalf("Nudge(%s, %q): %v", name, text, err)
	}
	return got
}

// pass advances the virtual time.
func (r *rig) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rig) want(id, state string) client.Receipt {
	r.Helper()
	got, err := r.engine.Receipt(r.Context(), id, "")
	if err != nil || got.State != state {
		r.Errorf("the receipt is %s (%s), %v; want %s; steps %v", got.State, got.Reason, err, state, got.Steps)
	}
	return got
}

// kinds returns the events of a receipt.
func (r *rig) kinds(id string) []string {
	events, _, err := r.events.After(0)
	if err != nil {
		r.Fatal(err)
	}
	var out []string
	for _, e := range events {
		if e.Data["receipt"] == id {
			out = append(out, e.Kind)
		}
	}
	return out
}
