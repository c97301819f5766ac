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
	"gascity/internal/domain/prompt"
	"gascity/internal/domain/session"
	"gascity/internal/service/prompts"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// agent is a scripted agent with a ledger of the prompts that it really accepted. It survives the
// controller. Its input box can contain a text that was not submitted.
type agent struct {
	mu          sync.Mutex
	name        string
	view        session.Snapshot
	ledger      []string
	line        string // the text in its input box
	epoch       int
	woken       int
	interrupted int
	typed       time.Time // when a person typed; the snapshot does not show it
	promptHold  string    // why it gets no prompts

	byTyping  func() (why string, forGood bool)                                         // why its prompts are typed; nil: they are not
	opens     bool                                                                      // its command line may contain a prompt
	deliver   func(ctx context.Context, a *agent, text string) (runtime.Outcome, error) // nil: each text is accepted
	settled   *runtime.Outcome                                                          // the result of Settle; nil: it reads the input box
	undecided int                                                                       // how many calls of Settle do not know the outcome yet
	orphan    bool                                                                      // a delivery continues without a controller until Withdraw
}

func token(name string, epoch int) string { return fmt.Sprintf("token-%s-%d", name, epoch) }

func newAgent(name string) *agent {
	a := &agent{name: name, view: session.Snapshot{Agent: name, Session: "s-" + name, Desired: "running"}}
	a.start()
	return a
}

// start starts a new instance.
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

// process is a controller process with an engine, and the provider of its agents. After kill it has
// no effect.
type process struct {
	runtime.Provider // nil
	agents           map[string]*agent
	engine           *prompts.Engine
	watch            func(d runtime.Delivery) // called before each delivery; nil: no call

	mu   sync.Mutex // held while a call has its effect
	dead bool
}

var errDead = errors.New("the process is dead")

func (w *process) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

// effect calls do unless the process was killed.
func (w *process) effect(do func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return errDead
	}
	return do()
}

func (w *process) find(name string) *agent {
	for _, a := range w.agents {
		if a.name == name || a.view.Session == name {
			return a
		}
	}
	return nil
}

func (w *process) Snapshot(name string) (session.Snapshot, error) {
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

func (w *process) promptHold(v session.Snapshot) string {
	a := w.find(v.Session)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.promptHold
}

func (w *process) typed(v session.Snapshot) (why string, forGood bool) {
	a := w.find(v.Session)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byTyping == nil {
		return "", false
	}
	return a.byTyping()
}

func (w *process) opens(v session.Snapshot) bool {
	a := w.find(v.Session)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.opens
}

func (w *process) WakeFor(_ context.Context, name, _ string) error {
	w.edit(name, func(a *agent) {
		a.woken++
		a.start()
	})
	return nil
}

// Sense reads the agent again, unless it was never read.
func (w *process) Sense(name string) {
	a := w.find(name)
	a.mu.Lock()
	unread := a.view.ReadAt.IsZero()
	a.mu.Unlock()
	if !unread {
		w.edit(name, func(a *agent) { a.view.ReadAt = time.Now() })
	}
}

// edit changes an agent and notifies the engine.
func (w *process) edit(name string, do func(*agent)) {
	a := w.find(name)
	a.mu.Lock()
	do(a)
	s := a.view.Session
	a.mu.Unlock()
	w.engine.SessionChanged(s)
}

func (w *process) Deliver(ctx context.Context, name string, d runtime.Delivery) (out runtime.Outcome, err error) {
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

// Withdraw stops a delivery that continues without a controller, and proves nothing.
func (w *process) Withdraw(_ context.Context, name string, _ runtime.Delivery) (bool, error) {
	a := w.find(name)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.orphan {
		a.orphan, a.undecided = false, 0
	}
	return false, nil
}

// Settle removes the text from the input box if it is there. The first calls do not know the outcome
// if the agent is set so.
func (w *process) Settle(_ context.Context, name string, d runtime.Delivery) (out runtime.Outcome, err error) {
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
	out.State = runtime.OutcomeUnconfirmed
	err = w.effect(func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if d.Instance != a.view.Token || a.line == "" || a.line != runtime.FlattenText(d.Content) {
			return nil
		}
		a.line, out = "", runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedWithdrawn}
		return nil
	})
	if err != nil {
		return runtime.Outcome{State: runtime.OutcomeUnconfirmed}, err
	}
	return out, nil
}

func (w *process) InterruptInstance(_ context.Context, name, _ string) error {
	return w.effect(func() error {
		a := w.find(name)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.interrupted++
		a.view.Activity = session.Activity{State: runtime.ActivityIdle}
		return nil
	})
}

func (w *process) Observe(_ context.Context, name string) (runtime.Observation, error) {
	a := w.find(name)
	a.mu.Lock()
	defer a.mu.Unlock()
	return runtime.Observation{Attached: a.view.Attached, LastInput: a.typed, At: time.Now()}, nil
}

func (w *process) StopInstance(context.Context, string, string) error { return errors.ErrUnsupported }

func (w *process) WaitForIdle(context.Context, string, time.Duration) error { return nil }

// killableStore is a store whose writes fail when the process is dead.
type killableStore struct {
	prompt.Store
	process *process
}

func (m killableStore) AddReceipt(ctx context.Context, r prompt.Receipt) (kept prompt.Receipt, known bool, err error) {
	err = m.process.effect(func() error { kept, known, err = m.Store.AddReceipt(ctx, r); return err })
	return kept, known, err
}

func (m killableStore) SaveReceipt(ctx context.Context, r prompt.Receipt) error {
	return m.process.effect(func() error { return m.Store.SaveReceipt(ctx, r) })
}

// engineTest is a test of an engine in a process that can be killed. The city has the store and the
// events, which survive the process.
type engineTest struct {
	*testing.T
	*process
	city  *servicetest.City
	store prompt.Store      // of the next process; at first that of the city
	texts prompts.TextFiles // nil: agents get no files
}

// inVirtualTime runs a test with virtual time over the given agents.
func inVirtualTime(t *testing.T, do func(r *engineTest), agents ...*agent) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		city := servicetest.New(t)
		r := &engineTest{T: t, city: city, store: city.Store, process: &process{agents: map[string]*agent{}}}
		for _, a := range agents {
			r.agents[a.name] = a
		}
		r.startProcess()
		do(r)
	})
}

// newProcess returns a process with an engine that does not run.
func (r *engineTest) newProcess() *process {
	w := &process{agents: r.agents}
	opts := servicetest.PromptOptions(killableStore{r.store, w}, w, r.city.Log)
	opts.PromptHold, opts.Opens, opts.Typed = w.promptHold, w.opens, w.typed
	if r.texts != nil {
		opts.Texts = r.texts
	}
	w.engine = prompts.New(opts)
	return w
}

// startProcess starts a process and waits until its engine is idle.
func (r *engineTest) startProcess() {
	r.process = r.newProcess()
	r.city.Start(r.engine)
}

// crash kills the process and starts another one.
func (r *engineTest) crash() {
	r.kill()
	r.city.Stop()
	r.startProcess()
}

func (r *engineTest) send(name, text string, edit ...func(*client.NudgeRequest)) client.Receipt {
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

func (r *engineTest) want(id, state string) client.Receipt {
	r.Helper()
	got, err := r.engine.Receipt(r.Context(), id, "")
	if err != nil || got.State != state {
		r.Errorf("the receipt is %s (%s), %v; want %s; steps %v", got.State, got.Reason, err, state, got.Steps)
	}
	return got
}

// kinds returns the events of a receipt.
func (r *engineTest) kinds(id string) []string {
	return r.city.KindsOf(func(e client.Event) bool { return e.Data["receipt"] == id })
}
