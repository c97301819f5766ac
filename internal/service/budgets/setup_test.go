package budgets_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/domain/event"
	"gascity/internal/domain/session"
	"gascity/internal/domain/usage"
	budgetservice "gascity/internal/service/budgets"
	"gascity/runtime"
	"gascity/test/servicetest"
)

// engineTest is a test of an engine in a scripted city.
type engineTest struct {
	*budgetservice.Engine
	t    *testing.T
	city *servicetest.City

	// The city's lock guards the rest.
	rules   budgetservice.Rules
	changed []string // the sessions that the engine reported as changed
}

// newCity returns a city of idle agents.
func newCity(t *testing.T, names ...string) *servicetest.City {
	city := servicetest.New(t)
	for _, name := range names {
		city.Add(name, func(v *session.Snapshot) { v.Activity.State = runtime.ActivityIdle })
	}
	return city
}

// start starts an engine with the given budgets.
func start(t *testing.T, city *servicetest.City, budgets ...usage.Budget) *engineTest {
	t.Helper()
	r := &engineTest{t: t, city: city, rules: budgetservice.Rules{Budgets: budgets}}
	r.startEngine()
	return r
}

// startEngine starts an engine with the stored entries.
func (r *engineTest) startEngine() {
	r.Engine = budgetservice.New(budgetservice.Options{
		City: r.city, Store: r.city.Store, Events: r.city.Log, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Rules: func() budgetservice.Rules {
			r.city.Mu.Lock()
			defer r.city.Mu.Unlock()
			return r.rules
		},
		Changed: func(name string) {
			r.city.Mu.Lock()
			defer r.city.Mu.Unlock()
			r.changed = append(r.changed, name)
		},
	})
	r.city.Start(r.Engine)
}

// restart stops the engine and starts another one, as a new controller does.
func (r *engineTest) restart() {
	r.city.Stop()
	r.startEngine()
}

// set replaces the budgets.
func (r *engineTest) set(budgets ...usage.Budget) {
	r.city.Mu.Lock()
	r.rules.Budgets = budgets
	r.city.Mu.Unlock()
	r.SessionChanged("")
}

func (r *engineTest) changedSessions() string {
	r.city.Mu.Lock()
	defer r.city.Mu.Unlock()
	return strings.Join(r.changed, " ")
}

// snapshot returns the snapshot of an agent that exists.
func (r *engineTest) snapshot(name string) session.Snapshot {
	v, err := r.city.Snapshot(name)
	r.must(err)
	return v
}

// spend reports a response with the given number of output tokens.
func (r *engineTest) spend(name, message string, output int64) error {
	v := r.snapshot(name)
	_, err := r.Spend(r.t.Context(), []usage.Entry{{
		Run: "run of " + v.Token, Message: message, Session: v.Session, Agent: v.Agent, At: time.Now(), Model: "m", Tokens: usage.Tokens{Output: &output}, Turn: true,
	}})
	return err
}

func (r *engineTest) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *engineTest) promptHold(name string) string { return r.PromptHold(r.snapshot(name)) }

// wantRequests checks everything that the engine has requested from the city.
func (r *engineTest) wantRequests(want ...string) {
	r.t.Helper()
	synctest.Wait()
	if got := r.city.Requests(); !slices.Equal(got, want) {
		r.t.Errorf("the city was asked for %q, want %q", got, want)
	}
}

// wantEvents checks the kinds of all events.
func (r *engineTest) wantEvents(want ...event.Kind) {
	r.t.Helper()
	synctest.Wait()
	if got := r.city.Kinds(); !slices.EqualFunc(got, want, func(a string, b event.Kind) bool { return a == string(b) }) {
		r.t.Errorf("the events are %q, want %q", got, want)
	}
}

func tokens(act usage.Act, limit float64, window time.Duration) usage.Budget {
	return usage.Budget{Name: "b", Scope: usage.ScopeAgent, Measure: usage.MeasureTokens, Limit: limit, Window: window, Act: act}
}
