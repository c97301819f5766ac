package router_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/provider/router"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// pair returns a router that routes names with an "f" to the remote backend.
func pair(t *testing.T, change func(*router.Config)) (*router.Provider, *fake.Provider, *fake.Provider) {
	t.Helper()
	n, f := fake.New(), fake.New()
	cfg := router.Config{
		Policy:   router.Hybrid{Local: near, Remote: far, Match: "f"},
		Backends: []router.Backend{{Name: near, Provider: n}, {Name: far, Provider: f}},
	}
	if change != nil {
		change(&cfg)
	}
	p, err := router.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, n, f
}

func start(t *testing.T, p runtime.Provider, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := p.Start(t.Context(), name, runtime.Config{Command: "agent"}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMissingBackendIsReportedFirst(t *testing.T) {
	p, n, f := pair(t, func(cfg *router.Config) {
		cfg.Policy = router.Auto{Default: near, ACP: "acp"}
		cfg.Transport = func(session string) string {
			if session == "talker" {
				return router.TransportACP
			}
			return ""
		}
	})
	if p.SupportsTransport(router.TransportACP) || !p.SupportsTransport("") {
		t.Error("SupportsTransport does not report which transports have a backend")
	}
	err := p.Start(t.Context(), "talker", runtime.Config{Command: "agent"})
	var missing *router.NoBackendError
	if !errors.Is(err, router.ErrNoBackend) || !errors.As(err, &missing) || missing.Backend != "acp" || !slices.Equal(missing.Known, []string{near, far}) {
		t.Errorf("Start = %v, want the missing backend and those that are there", err)
	}
	if calls := append(n.Calls("Start", "Stop"), f.Calls("Start", "Stop")...); len(calls) > 0 {
		t.Errorf("the failed start did %v", calls)
	}
	if obs, err := p.Observe(t.Context(), "talker"); err != nil || obs.Session != runtime.Dead {
		t.Errorf("Observe = %v, %v, want dead: it can be nowhere", obs.Session, err)
	}
	if err := errors.Join(p.Stop("talker"), p.Interrupt("talker"), p.SendKeys("talker", "Enter")); err != nil {
		t.Errorf("a session without a backend cannot be ended: %v", err)
	}
	if _, err := p.Peek("talker", 0); !runtime.IsSessionGone(err) {
		t.Errorf("Peek = %v, want no such session", err)
	}
	start(t, p, "other")
	if !n.IsRunning("other") {
		t.Error("a session of the default does not run there")
	}
}

func TestUnavailableBackendHidesNoOtherSessions(t *testing.T) {
	p, n, _ := pair(t, func(cfg *router.Config) {
		cfg.Backends[1] = router.Backend{Name: far, Err: errors.New("no route to host")}
	})
	start(t, n, "a")
	names, err := p.ListRunning("")
	var partial *runtime.PartialListError
	if !slices.Equal(names, []string{"a"}) || !errors.As(err, &partial) || len(partial.Errs) != 1 || !strings.Contains(partial.Errs[0].Error(), far+": ") {
		t.Errorf("ListRunning = %v, %v, want a and that %s did not answer", names, err, far)
	}
	if !p.IsRunning("a") {
		t.Error("the session that runs is not seen")
	}
	for name, err := range map[string]error{
		"Start at home":     p.Start(t.Context(), "f", runtime.Config{}),
		"Start elsewhere":   p.Start(t.Context(), "b", runtime.Config{}),
		"Stop of a missing": p.Stop("b"),
	} {
		if !errors.Is(err, runtime.ErrRuntimeUnavailable) || !strings.Contains(err.Error(), "no route to host") || !strings.Contains(err.Error(), far) {
			t.Errorf("%s = %v, want that %s is unavailable and why", name, err, far)
		}
	}
	if len(n.Calls("Start")) > 1 {
		t.Error("a session was started although it may run elsewhere")
	}
	if _, err := p.Peek("b", 0); !errors.Is(err, runtime.ErrRuntimeUnavailable) || runtime.IsSessionGone(err) {
		t.Errorf("Peek = %v, want unavailable and not gone", err)
	}
}

func TestNoAvailableBackendIsAnError(t *testing.T) {
	p, n, f := pair(t, nil)
	n.Fail("ListRunning", "", errAway)
	f.Fail("ListRunning", "", errAway)
	if names, err := p.ListRunning(""); names != nil || !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("ListRunning = %v, %v, want unavailable", names, err)
	}
}

func TestHangingBackendIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := fake.NewFaulty(fake.New())
		slow.Inject(fake.Fault{Delay: time.Hour, Op: "ListRunning"})
		p, n, _ := pair(t, func(cfg *router.Config) {
			cfg.Backends[1].Provider, cfg.Timeout = slow, 3*time.Second
		})
		start(t, n, "a")
		began := time.Now()
		names, err := p.ListRunning("")
		if took := time.Since(began); took != 3*time.Second || !slices.Equal(names, []string{"a"}) || !errors.Is(err, runtime.ErrRuntimeUnavailable) {
			t.Errorf("ListRunning = %v, %v after %v, want a and a partial list after the patience", names, err, took)
		}
		if err := p.Close(); err == nil {
			t.Error("Close does not report that an answer is still missing")
		}
		time.Sleep(2 * time.Hour) // of the bubble: until the backend returns
		if err := p.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
}

func TestRouteChangeAppliesAtTheNextStart(t *testing.T) {
	p, n, f := pair(t, nil)
	start(t, p, "f")
	edited, err := router.Open(router.Config{
		Policy:   router.Hybrid{Local: near, Remote: far},
		Backends: []router.Backend{{Name: near, Provider: n}, {Name: far, Provider: f}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := edited.Start(t.Context(), "f", runtime.Config{}); !errors.Is(err, runtime.ErrSessionExists) || !strings.Contains(err.Error(), far) {
		t.Errorf("Start = %v, want that it exists at %s", err, far)
	}
	if err := edited.Nudge("f", runtime.TextContent("hello")); err != nil || len(f.Calls("Nudge")) != 1 {
		t.Errorf("Nudge = %v, want it where the session runs", err)
	}
	if err := edited.Stop("f"); err != nil || f.IsRunning("f") {
		t.Errorf("Stop = %v, running: %v", err, f.IsRunning("f"))
	}
	start(t, edited, "f")
	if !n.IsRunning("f") {
		t.Error("it does not run at its new home")
	}
	n.Exit("f", runtime.Exit{Code: 3})
	start(t, p, "f") // back: the dead session is removed first
	if obs, err := n.Observe(t.Context(), "f"); err != nil || obs.Session != runtime.Dead || !f.IsRunning("f") {
		t.Errorf("a dead session is left at the previous home: %v, %v", obs.Session, err)
	}
}

func TestErrorsNameTheBackend(t *testing.T) {
	p, _, f := pair(t, nil)
	start(t, p, "f")
	broken := errors.New("broken")
	for op, call := range map[string]func() error{
		"Nudge":      func() error { return p.Nudge("f", runtime.TextContent("x")) },
		"Stop":       func() error { return p.Stop("f") },
		"SetMeta":    func() error { return p.SetMeta("f", "k", "v") },
		"RemoveMeta": func() error { return p.RemoveMeta("f", "k") },
		"GetMeta":    func() error { _, err := p.GetMeta("f", "k"); return err },
		"Peek":       func() error { _, err := p.Peek("f", 0); return err },
		"CopyTo":     func() error { return p.CopyTo("f", "x", "y") },
		"RunLive":    func() error { return p.RunLive("f", runtime.Config{}) },
		"Interrupt":  func() error { return p.Interrupt("f") },
		"Start":      func() error { return p.Start(t.Context(), "f2", runtime.Config{}) },
	} {
		f.Fail(op, "", broken)
		err := call()
		var at *router.Error
		if !errors.Is(err, broken) || !errors.As(err, &at) || at.Backend != far {
			t.Errorf("%s = %v, want the cause and the backend %s", op, err, far)
		}
		f.Fail(op, "", nil)
	}
}

// minimalDriver is a driver with few capabilities.
type minimalDriver struct{ facets }

func (minimalDriver) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{}
}

func TestCapabilitiesAreThoseOfTheSession(t *testing.T) {
	p, _, _ := pair(t, func(cfg *router.Config) { cfg.Backends[1].Provider = minimalDriver{facets{fake.New()}} })
	none := runtime.ProviderCapabilities{}
	if got := p.Capabilities(); got != none {
		t.Errorf("all sessions report %+v, want only what both backends report", got)
	}
	if got := runtime.CapabilitiesFor(p, "f"); got != none {
		t.Errorf("a far session: %+v", got)
	}
	if got := runtime.CapabilitiesFor(p, "a"); !got.CanAttachTTY || !got.CanStream {
		t.Errorf("a near session: %+v", got)
	}
	start(t, p, "f", "a")
	if _, ok := runtime.As[runtime.Deliverer](p, "f"); ok {
		t.Error("an extension of one backend is offered for a session of the other")
	}
	if _, ok := runtime.As[runtime.Deliverer](p, "a"); !ok {
		t.Error("an extension is hidden")
	}
	if err := runtime.StopInstance(t.Context(), p, "f", "x"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("StopInstance = %v, want unsupported as at the backend itself", err)
	}
}

func TestWatchContinuesWithoutOneBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ending := &endingWatcher{Provider: fake.New(), ends: make(chan struct{})}
		p, n, _ := pair(t, func(cfg *router.Config) { cfg.Backends[1].Provider = ending })
		events, err := p.Watch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if ev := <-events; ev.Kind != runtime.EventResync {
			t.Errorf("the first event is %s, want a resync", ev.Kind)
		}
		<-events // the other backend's
		start(t, ending.Provider, "f")
		await(t, events, runtime.EventStarted, "f")
		close(ending.ends)
		await(t, events, runtime.EventResync, "") // the end is reported
		start(t, n, "a")
		await(t, events, runtime.EventStarted, "a") // the other backend still works
		await(t, events, runtime.EventResync, "")   // it is watched again
		start(t, ending.Provider, "f2")
		await(t, events, runtime.EventStarted, "f2")
		cancel()
		for range events {
		}
	})
}

// endingWatcher ends its first watch on request.
type endingWatcher struct {
	*fake.Provider
	ends  chan struct{}
	again bool
}

func (e *endingWatcher) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if e.again {
		return e.Provider.Watch(ctx)
	}
	e.again = true
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-e.ends:
		case <-ctx.Done():
		}
	}()
	return e.Provider.Watch(ctx)
}

func await(t *testing.T, events <-chan runtime.Event, kind runtime.EventKind, session string) {
	t.Helper()
	deadline := time.After(time.Hour) // of the bubble's clock
	for {
		select {
		case ev, open := <-events:
			if !open {
				t.Fatal("the events ended")
			}
			if ev.Kind == kind && ev.Session == session {
				return
			}
		case <-deadline:
			t.Fatalf("no %s of %q", kind, session)
		}
	}
}

func TestBackendWithoutEventsIsPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p, _, _ := pair(t, func(cfg *router.Config) {
			cfg.Backends[1].Provider, cfg.Pause = facets{fake.New()}, time.Minute
		})
		events, err := p.Watch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		began, count := time.Now(), 0
		for range events {
			if count++; time.Since(began) > 10*time.Minute {
				break
			}
		}
		if count < 10 || count > 15 {
			t.Errorf("%d calls to look within ten minutes, want one each minute", count)
		}
		cancel()
		for range events {
		}
		if _, err := func() (<-chan runtime.Event, error) {
			p, _, _ := pair(t, func(cfg *router.Config) {
				cfg.Backends[0].Provider, cfg.Backends[1].Provider = facets{fake.New()}, facets{fake.New()}
			})
			return runtime.Watch(t.Context(), p)
		}(); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a watch over backends without events = %v, want unsupported", err)
		}
	})
}

func TestScanReportsEachProcessOnce(t *testing.T) {
	p, n, f := pair(t, nil)
	id := runtime.Config{Command: "agent", Env: map[string]string{"GC_SESSION_ID": "s1"}}
	if err := errors.Join(p.Start(t.Context(), "a", id), p.Start(t.Context(), "f", id)); err != nil {
		t.Fatal(err)
	}
	found, err := runtime.FindRuntimesBySessionID(p, "s1")
	if err != nil || len(found) != 2 {
		t.Fatalf("found %+v, %v, want one process at each backend", found, err)
	}
	for _, r := range found {
		if err := runtime.TerminateRuntime(p, r); err != nil {
			t.Errorf("TerminateRuntime(%s) = %v", r.ProviderName, err)
		}
	}
	if n.IsRunning("a") || f.IsRunning("f") {
		t.Error("a process that was found and ended runs")
	}
	if err := runtime.TerminateRuntime(p, found[0]); err != nil {
		t.Errorf("a process that is gone = %v, want nil", err)
	}
}

// closer counts how often it is closed.
type closer struct {
	*fake.Provider
	closed int
	err    error
}

func (c *closer) Close() error {
	c.closed++
	return c.err
}

func TestCloseClosesAll(t *testing.T) {
	broken := errors.New("broken")
	one, two := &closer{Provider: fake.New(), err: broken}, &closer{Provider: fake.New()}
	p, _, _ := pair(t, func(cfg *router.Config) {
		cfg.Backends[0].Provider, cfg.Backends[1].Provider = one, two
	})
	if err := p.Close(); !errors.Is(err, broken) || one.closed != 1 || two.closed != 1 {
		t.Errorf("Close = %v, closed %d and %d times, want the error and both", err, one.closed, two.closed)
	}
	if err := errors.Join(p.ConfigureServer(), p.TeardownServer()); err != nil || len(two.Calls("TeardownServer")) != 1 {
		t.Errorf("the servers = %v", err)
	}
}
