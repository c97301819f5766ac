package router_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gascity/provider/router"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// step is one random event of a city with two backends.
type step struct {
	do      string
	session string
	backend int
}

var (
	deeds    = []string{"start", "stop", "stop", "stop instance", "crash", "edit", "reopen", "away", "back", "back", "list", "observe", "nudge"}
	sessions = []string{"a", "b", "ab"}
	matches  = []string{"", "a", "b"}
)

// simulation is two fakes, a router over them, and the rules for both.
type simulation struct {
	fakes  [2]*fake.Provider // the real state: they never fail
	places [2]*fake.Faulty   // what the router sees of them
	bare   bool              // without extensions
	heal   [2]func()
	match  int
	make   func(*router.Provider) runtime.Provider
	p      runtime.Provider
}

var errAway = errors.New("connection refused")

func newSimulation(made func(*router.Provider) runtime.Provider) *simulation {
	w := &simulation{make: made}
	for i := range w.fakes {
		w.fakes[i] = fake.New()
	}
	return w
}

func (w *simulation) open() error {
	for i, f := range w.fakes {
		w.places[i] = fake.NewFaulty(f.Reopen())
		if w.heal[i] != nil {
			w.heal[i] = w.places[i].Inject(fake.Fault{Err: errAway})
		}
	}
	return w.route()
}

func (w *simulation) route() error {
	p, err := router.Open(router.Config{
		Policy:   router.Hybrid{Local: near, Remote: far, Match: matches[w.match]},
		Backends: []router.Backend{{Name: near, Provider: w.routedState(0)}, {Name: far, Provider: w.routedState(1)}},
	})
	if err == nil {
		w.p = w.make(p)
	}
	return err
}

// routedState returns a backend as the router uses it.
func (w *simulation) routedState(i int) runtime.Provider {
	if w.bare {
		return facets{w.places[i]}
	}
	return w.places[i]
}

// facets hides every extension.
type facets struct{ runtime.Provider }

// runningBackends returns the backends where the session really runs.
func (w *simulation) runningBackends(session string) (at []int) {
	for i, f := range w.fakes {
		if f.IsRunning(session) {
			at = append(at, i)
		}
	}
	return at
}

// play carries out the steps and returns the first violation.
func play(ctx context.Context, steps []step, w *simulation) error {
	if err := w.open(); err != nil {
		return err
	}
	for i, s := range steps {
		if err := w.happen(ctx, s); err != nil {
			return fmt.Errorf("step %d, %v: %w", i, s, err)
		}
		for _, name := range sessions {
			if at := w.runningBackends(name); len(at) > 1 {
				return fmt.Errorf("step %d, %v: %s runs at two backends", i, s, name)
			}
		}
	}
	return nil
}

func (w *simulation) happen(ctx context.Context, s step) error {
	switch s.do {
	case "crash":
		w.fakes[s.backend].Exit(s.session, runtime.Exit{Code: 1})
	case "edit":
		w.match = (w.match + 1) % len(matches)
		return w.route()
	case "reopen":
		return w.open()
	case "away":
		if w.heal[s.backend] == nil {
			w.heal[s.backend] = w.places[s.backend].Inject(fake.Fault{Err: errAway})
		}
	case "back":
		if w.heal[s.backend] != nil {
			w.heal[s.backend]()
			w.heal[s.backend] = nil
		}
	case "start", "stop", "stop instance":
		return w.change(ctx, s)
	default:
		return w.checkAnswers(ctx, s)
	}
	return nil
}

// change starts or stops a session, and compares the result with the real state.
func (w *simulation) change(ctx context.Context, s step) error {
	before := w.runningBackends(s.session)
	switch s.do {
	case "start":
		err := w.p.Start(ctx, s.session, runtime.Config{Command: "agent"})
		at := w.runningBackends(s.session)
		switch {
		case err == nil && (len(before) > 0 || len(at) != 1 || at[0] != w.home(s.session)):
			return fmt.Errorf("Start = nil; it ran at %v and now at %v, its home is %d", before, at, w.home(s.session))
		case err != nil && !slices.Equal(before, at):
			return fmt.Errorf("Start = %w and moved it from %v to %v", err, before, at)
		case err != nil && len(before) == 0 && w.heal[0] == nil && w.heal[1] == nil:
			return fmt.Errorf("Start = %w although all is well", err)
		}
	case "stop", "stop instance":
		err := w.stop(ctx, s)
		at := w.runningBackends(s.session)
		switch {
		case err == nil && len(at) > 0:
			return fmt.Errorf("%s = nil and it runs at %v", s.do, at)
		case err == nil && (w.heal[0] != nil || w.heal[1] != nil):
			return fmt.Errorf("%s = nil although a backend could not be asked", s.do)
		case err != nil && w.heal[0] == nil && w.heal[1] == nil:
			return fmt.Errorf("%s = %w although all is well", s.do, err)
		}
	}
	return nil
}

// stop stops by name, or the instance that really runs.
func (w *simulation) stop(ctx context.Context, s step) error {
	if s.do == "stop" {
		return w.p.Stop(s.session)
	}
	for _, f := range w.fakes {
		obs, err := f.Observe(ctx, s.session)
		if err != nil {
			return err
		}
		if obs.Session == runtime.Alive {
			if err := runtime.StopInstance(ctx, w.p, s.session, "another"); !errors.Is(err, runtime.ErrStaleInstance) && w.heal[0] == nil && w.heal[1] == nil {
				return fmt.Errorf("another instance is stopped: %v", err) //nolint:errorlint // it may be nil
			}
			return runtime.StopInstance(ctx, w.p, s.session, obs.InstanceToken)
		}
	}
	return runtime.StopInstance(ctx, w.p, s.session, "none")
}

func (w *simulation) home(session string) int {
	if (router.Hybrid{Local: near, Remote: far, Match: matches[w.match]}).Backend(session, "") == far {
		return 1
	}
	return 0
}

// checkAnswers compares the results of queries with the real state.
func (w *simulation) checkAnswers(ctx context.Context, s step) error {
	at, blind := w.runningBackends(s.session), w.heal[0] != nil || w.heal[1] != nil
	seen := len(at) == 1 && w.heal[at[0]] == nil
	switch s.do {
	case "list":
		names, err := w.p.ListRunning("")
		if slices.Contains(names, s.session) != seen {
			return fmt.Errorf("ListRunning = %v; it runs at %v", names, at)
		}
		if (err != nil) != blind {
			return fmt.Errorf("ListRunning = %w; a backend is away: %v", err, blind)
		}
		if _, partial := errors.AsType[*runtime.PartialListError](err); err != nil && !partial && (w.heal[0] == nil || w.heal[1] == nil) {
			return fmt.Errorf("ListRunning = %w, want a partial list", err)
		}
	case "observe":
		obs, err := runtime.Observe(ctx, w.p, s.session)
		switch {
		case seen && (err != nil || obs.Session != runtime.Alive || obs.Agent != runtime.Alive):
			return fmt.Errorf("Observe = %v %w; it runs at %v", obs.Session, err, at)
		case !seen && blind && obs.Agent == runtime.Dead && obs.Session == runtime.Dead:
			return errors.New("Observe says dead although a backend could not be asked")
		case !blind && (err != nil || (obs.Agent == runtime.Alive) != (len(at) == 1)):
			return fmt.Errorf("Observe = %v %w; it runs at %v", obs.Agent, err, at)
		}
	case "nudge":
		out, err := runtime.Deliver(ctx, w.p, s.session, runtime.Delivery{Content: runtime.TextContent("x")})
		if done := out.State == runtime.OutcomeSubmitted; done != (seen && w.fakes[at[0]].IsRunning(s.session)) {
			return fmt.Errorf("Deliver = %v %w; it runs at %v", out.State, err, at)
		}
	}
	return nil
}

func plain(p *router.Provider) runtime.Provider { return p }

// TestOneSessionOneBackend checks with random events that a session runs at no more than one backend.
func TestOneSessionOneBackend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{rapid.SampledFrom(deeds).Draw(t, "do"), rapid.SampledFrom(sessions).Draw(t, "session"), rapid.IntRange(0, 1).Draw(t, "backend")}
		}), 1, 30).Draw(t, "steps")
		if err := play(t.Context(), steps, newSimulation(plain)); err != nil {
			t.Fatal(err)
		}
		w := newSimulation(plain)
		w.bare = true
		steps = slices.DeleteFunc(steps, func(s step) bool { return s.do == "observe" || s.do == "stop instance" || s.do == "nudge" })
		if err := play(t.Context(), steps, w); err != nil {
			t.Fatalf("without extensions: %v", err)
		}
	})
}

// byPolicy stops at the backend of the policy.
type byPolicy struct{ *router.Provider }

func (m byPolicy) Stop(name string) error { return m.policy(name).Stop(name) }

func (m byPolicy) StopInstance(ctx context.Context, name, token string) error {
	return runtime.StopInstance(ctx, m.policy(name), name, token)
}

// policy routes a name that is nowhere: that is by policy only.
func (m byPolicy) policy(name string) runtime.Provider {
	if p := m.Provider.Route(name + "zz"); p != nil {
		return p
	}
	return m.Provider
}

// asFound stops where the session is found, and treats no answer as absence.
type asFound struct{ *router.Provider }

func (m asFound) Stop(name string) error {
	if p := m.Provider.Route(name); p != nil {
		return p.Stop(name)
	}
	return nil
}

// heedless starts without a check of the other backend.
type heedless struct{ byPolicy }

func (m heedless) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return m.policy(name).Start(ctx, name, cfg)
}

// partialHidden hides that a list is partial.
type partialHidden struct{ *router.Provider }

func (m partialHidden) ListRunning(prefix string) ([]string, error) {
	names, err := m.Provider.ListRunning(prefix)
	if _, partial := errors.AsType[*runtime.PartialListError](err); partial {
		err = nil
	}
	return names, err
}

// strict returns no names if one backend fails.
type strict struct{ *router.Provider }

func (m strict) ListRunning(prefix string) ([]string, error) {
	names, err := m.Provider.ListRunning(prefix)
	if err != nil {
		return nil, err
	}
	return names, nil
}

// sure treats no answer as absence in Observe.
type sure struct{ *router.Provider }

func (m sure) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	obs, err := m.Provider.Observe(ctx, name)
	if err != nil {
		return runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead}, nil //nolint:nilerr // that is what is wrong with it
	}
	return obs, nil
}

// fixed routes by policy only.
type fixed struct{ *router.Provider }

func (m fixed) Route(name string) runtime.Provider { return byPolicy(m).policy(name) }

// remembering always uses the first route.
type remembering struct {
	*router.Provider
	routes map[string]runtime.Provider
}

func (m remembering) Route(name string) runtime.Provider {
	if p, ok := m.routes[name]; ok {
		return p
	}
	m.routes[name] = m.Provider.Route(name)
	return m.routes[name]
}

func (m remembering) Stop(name string) error {
	if p := m.Route(name); p != nil {
		return p.Stop(name)
	}
	return m.Provider.Stop(name)
}

// TestWrongRoutersAreDetected checks that wrong routers are detected.
func TestWrongRoutersAreDetected(t *testing.T) {
	for name, made := range map[string]func(*router.Provider) runtime.Provider{
		"stops by policy only":         func(p *router.Provider) runtime.Provider { return byPolicy{p} },
		"takes silence for absence":    func(p *router.Provider) runtime.Provider { return asFound{p} },
		"starts without a look":        func(p *router.Provider) runtime.Provider { return heedless{byPolicy{p}} },
		"hides that a list is partial": func(p *router.Provider) runtime.Provider { return partialHidden{p} },
		"hides what answered":          func(p *router.Provider) runtime.Provider { return strict{p} },
		"observes silence as dead":     func(p *router.Provider) runtime.Provider { return sure{p} },
		"routes by policy only":        func(p *router.Provider) runtime.Provider { return fixed{p} },
		"remembers routes":             func(p *router.Provider) runtime.Provider { return remembering{p, map[string]runtime.Provider{}} },
	} {
		if err := hunt(t.Context(), made); err == nil {
			t.Errorf("a router that %s passes", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	if err := hunt(t.Context(), plain); err != nil {
		t.Errorf("the router itself fails: %v", err)
	}
}

// hunt plays many fixed sequences and returns the first violation.
func hunt(ctx context.Context, made func(*router.Provider) runtime.Provider) error {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
		steps := make([]step, 25)
		for i := range steps {
			steps[i] = step{deeds[random.IntN(len(deeds))], sessions[random.IntN(len(sessions))], random.IntN(2)}
		}
		if err := play(ctx, steps, newSimulation(made)); err != nil {
			return err
		}
	}
	return nil
}
