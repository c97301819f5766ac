package budgets_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	budgetservice "gascity/internal/service/budgets"
	"gascity/internal/store/storetest"
	"gascity/runtime"
)

// fakeCity is a city that carries out the requested actions and records them.
type fakeCity struct {
	mu      sync.Mutex
	views   map[string]*session.Snapshot
	acts    []string
	changed []string
	fail    error // of every act
}

func newFakeCity(names ...string) *fakeCity {
	w := &fakeCity{views: map[string]*session.Snapshot{}}
	for _, name := range names {
		w.views[name] = &session.Snapshot{
			Agent: name, Session: "s-" + name, Desired: "running", State: session.StateRunning, Running: true, Ready: true,
			Token: "token of " + name, Instance: "i-" + name, Activity: session.Activity{State: runtime.ActivityIdle},
		}
	}
	return w
}

func (w *fakeCity) Snapshots() []session.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []session.Snapshot{}
	for _, v := range w.views {
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b session.Snapshot) int { return len(a.Session) - len(b.Session) })
	return out
}

func (w *fakeCity) at(name string) *session.Snapshot {
	for _, v := range w.views {
		if v.Session == name || v.Agent == name {
			return v
		}
	}
	panic("no " + name)
}

func (w *fakeCity) do(format string, args ...any) error {
	if w.fail != nil {
		return w.fail
	}
	w.acts = append(w.acts, fmt.Sprintf(format, args...))
	return nil
}

func (w *fakeCity) Interrupt(_ context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return client.Done{}, w.do("interrupt %s %s", name, req.Instance)
}

func (w *fakeCity) Withhold(_ context.Context, name, reason string, until time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("withhold %s", name); err != nil {
		return err
	}
	v := w.at(name)
	v.Hold, v.Running, v.Activity = session.Hold{Kind: session.HoldBudget, Reason: reason, Until: until}, false, session.Activity{}
	return nil
}

func (w *fakeCity) Allow(_ context.Context, name, _ string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("allow %s", name); err != nil {
		return err
	}
	v := w.at(name)
	v.Hold, v.Running, v.Activity = session.Hold{}, true, session.Activity{State: runtime.ActivityIdle, Since: time.Now()}
	return nil
}

func (w *fakeCity) be(name string, a runtime.Activity) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at(name).Activity = session.Activity{State: a, Since: time.Now()}
}

func (w *fakeCity) refuse(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *fakeCity) until(name string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at(name).Hold.Until
}

func (w *fakeCity) changedSessions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.changed)
}

func (w *fakeCity) recordedActs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.acts)
}

// rig is an engine in a fake city.
type rig struct {
	*budgetservice.Engine
	t     *testing.T
	city  *fakeCity
	store *storetest.Faulty
	under storetest.Stores
	stop  func()

	mu    sync.Mutex
	rules budgetservice.Rules
}

func (r *rig) inForce() budgetservice.Rules {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rules
}

func (r *rig) set(budgets ...usage.Budget) {
	r.mu.Lock()
	r.rules.Budgets = budgets
	r.mu.Unlock()
	r.SessionChanged("")
}

func start(t *testing.T, w *fakeCity, budgets ...usage.Budget) *rig {
	t.Helper()
	under := storetest.Memory(time.Now)
	r := &rig{t: t, city: w, store: storetest.NewFaulty(under), under: under, rules: budgetservice.Rules{Budgets: budgets}}
	r.begin()
	return r
}

// begin starts an engine with the stored entries.
func (r *rig) begin() {
	e := budgetservice.New(budgetservice.Options{
		City: r.city, Store: r.store, Events: r.under.Events, Rules: r.inForce,
		Changed: func(name string) {
			r.city.mu.Lock()
			defer r.city.mu.Unlock()
			r.city.changed = append(r.city.changed, name)
		},
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	r.Engine = e
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
	synctest.Wait()
}

// restart stops the engine and starts another one, like a change of the controller.
func (r *rig) restart() {
	r.stop()
	r.begin()
}

func (r *rig) spend(name, message string, output int64) error {
	w := r.city
	w.mu.Lock()
	v := *w.at(name)
	w.mu.Unlock()
	_, err := r.Spend(r.t.Context(), []usage.Entry{{
		Run: "run of " + v.Token, Message: message, Session: v.Session, Agent: v.Agent, At: time.Now(), Model: "m", Tokens: usage.Tokens{Output: &output}, Turn: true,
	}})
	return err
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) promptHold(name string) string {
	r.city.mu.Lock()
	v := *r.city.at(name)
	r.city.mu.Unlock()
	return r.PromptHold(v)
}

func (r *rig) sees(name string, activity runtime.Activity) {
	r.city.be(name, activity)
	r.SessionChanged("s-" + name)
	synctest.Wait()
}

func (r *rig) acts(want ...string) {
	r.t.Helper()
	synctest.Wait()
	if got := r.city.recordedActs(); !slices.Equal(got, want) {
		r.t.Errorf("the city was asked for %q, want %q", got, want)
	}
}

func (r *rig) wantEvents(want ...event.Kind) {
	r.t.Helper()
	synctest.Wait()
	all, _, err := r.under.Events.After(0)
	r.must(err)
	var got []event.Kind
	for _, e := range all {
		got = append(got, event.Kind(e.Kind))
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("the time line is %q, want %q", got, want)
	}
}

func tokens(act usage.Act, limit float64, window time.Duration) usage.Budget {
	return usage.Budget{Name: "b", Scope: usage.ScopeAgent, Measure: usage.MeasureTokens, Limit: limit, Window: window, Act: act}
}
