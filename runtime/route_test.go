package runtime_test

import (
	"context"
	"testing"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

// bare hides the extensions of a provider.
type bare struct{ runtime.Provider }

// byName routes by the first letter of the name.
type byName struct {
	runtime.Provider // for what concerns no session in particular
	routes           map[string]runtime.Provider
}

func (r byName) Route(session string) runtime.Provider {
	if session == "" {
		return r.Provider
	}
	return r.routes[session[:1]]
}

// wrapper is a transparent one.
type wrapper struct{ bare }

func (w wrapper) Route(string) runtime.Provider { return w.Provider }

// unobservable intercepts one extension.
type unobservable struct{ wrapper }

func (unobservable) Observe(context.Context, string) (runtime.Observation, error) {
	return runtime.Observation{Title: "intercepted"}, nil
}

func TestAsFollowsRoutes(t *testing.T) {
	inner := fake.New()
	router := byName{bare{inner}, map[string]runtime.Provider{
		"f": inner,
		"b": bare{inner},
		"w": wrapper{bare{wrapper{bare{inner}}}},
		"r": byName{bare{inner}, map[string]runtime.Provider{"r": wrapper{bare{inner}}}},
		"d": wrapper{bare{unobservable{wrapper{bare{inner}}}}},
	}}
	for session, want := range map[string]bool{"f": true, "b": false, "w": true, "r": true, "x": false, "": false} {
		if got, ok := runtime.As[runtime.Observer](router, session); ok != want || ok && got != runtime.Observer(inner) {
			t.Errorf("As[Observer] for %q = %v, %v, want %v", session, got, ok, want)
		}
	}
	obs, err := runtime.Observe(t.Context(), router, "d")
	if err != nil || obs.Title != "intercepted" {
		t.Errorf("the wrapper that implements Observe is passed by: %+v, %v", obs, err)
	}
	if _, ok := runtime.As[runtime.Deliverer](router, "d"); !ok {
		t.Error("a wrapper that intercepts one extension hides another")
	}
	if _, ok := runtime.As[runtime.Observer](nil, "a"); ok {
		t.Error("As finds something in nothing")
	}
	if _, ok := runtime.As[runtime.Provider](router, "a"); !ok {
		t.Error("As does not find the provider itself")
	}
}

// TestConformanceThroughWrappers proves with the whole suite that a wrapper of
// one method is transparent.
func TestConformanceThroughWrappers(t *testing.T) {
	results := runtimetest.Run(t, fake.Harness(func(p *fake.Provider) runtime.Provider { return wrapper{bare{wrapper{bare{p}}}} }))
	for _, r := range results {
		if r.Status == runtimetest.NotApplicable {
			t.Errorf("%s got lost: %v", r.ID, r.Detail)
		}
	}
}
