package all

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/provider/router"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

func blank(t *testing.T) Config {
	t.Helper()
	dir := t.TempDir()
	return Config{Dir: dir, LogDir: dir, StateDir: dir, WorkDir: dir, City: "city", Env: []string{"PATH=" + dir}, Shim: []string{"false"}}
}

func TestUnknownProvidersListTheKnown(t *testing.T) {
	cfg := blank(t)
	for _, selection := range []string{"", "nope", "pty:x", "auto:x"} {
		if p, err := Open(selection, cfg); p != nil || !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), strings.Join(Names(), ", ")) {
			t.Errorf("Open(%q) = %v, %v, want an error that lists the known", selection, p, err)
		}
	}
	if _, _, err := Find("tmxu"); err == nil || !strings.Contains(err.Error(), `did you mean "tmux"?`) {
		t.Errorf("of a misspelt one: %v", err)
	}
}

func TestLookPath(t *testing.T) {
	cfg := blank(t)
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o700, "text": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho tool 3.4\necho more\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Environ = []string{"PATH=/nowhere", "PATH=/nowhere:" + dir} // the last one wins
	if path, err := cfg.FindTool("tool"); err != nil || path != filepath.Join(dir, "tool") {
		t.Errorf("LookPath = %q, %v", path, err)
	}
	if _, err := cfg.FindTool("text"); !errors.Is(err, client.ErrUnsupported) {
		t.Errorf("a file that is no program = %v", err)
	}
	d := Driver{Name: "x", Needs: []Tool{{Name: "tool", Version: []string{"-V"}}, {Name: "lost", Remedy: "install it"}}}
	_, err := d.Probe(t.Context(), cfg)
	if !IsMissing(err) || !errors.Is(err, client.ErrUnsupported) || !strings.Contains(err.Error(), "lost") || !strings.HasSuffix(err.Error(), "install it") {
		t.Errorf("Probe = %v, want the missing tool and its cure", err)
	}
	d.Needs = d.Needs[:1]
	if version, err := d.Probe(t.Context(), cfg); err != nil || version != "tool 3.4" {
		t.Errorf("Probe = %q, %v", version, err)
	}
}

func TestRouting(t *testing.T) {
	first := Drivers()[0].Name
	for _, c := range []struct {
		driver                   string
		routing                  Routing
		session, transport, want string
	}{
		{"auto", Routing{}, "a", "", first},
		{"auto", Routing{}, "a", "acp", "acp"},
		{"auto", Routing{Default: "subprocess", ACP: "exec:./x"}, "a", "acp", "exec:./x"},
		{"auto", Routing{Default: "subprocess"}, "a", "", "subprocess"},
		{"hybrid", Routing{}, "far-1", "", first},
		{"hybrid", Routing{Remote: "exec:./x", Match: "far"}, "far-1", "", "exec:./x"},
		{"hybrid", Routing{Remote: "exec:./x", Local: "subprocess", Match: "far"}, "near-1", "", "subprocess"},
		{"hybrid", Routing{Match: "far"}, "far-1", "", ""},
	} {
		d, _, err := Find(c.driver)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.Route(c.routing, c.session, c.transport); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s routes %q %q by %+v to %q, %v, want %q", c.driver, c.session, c.transport, c.routing, got, err, c.want)
		}
	}
}

func TestRouterOpensItsBackends(t *testing.T) {
	cfg := blank(t)
	cfg.Routing = Routing{Local: "pty", Remote: "nope", Match: "far"}
	p, err := Open("hybrid", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "far", runtime.Config{}); !errors.Is(err, router.ErrNoBackend) || !strings.Contains(err.Error(), "nope") {
		t.Errorf("Start = %v, want that the backend is not there", err)
	}
	if err := Close(p); err != nil {
		t.Error(err)
	}
	cfg.Routing = Routing{Default: "auto"}
	if p, err := Open("auto", cfg); p != nil || !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a router over itself = %v, %v", p, err)
	}
}

// TestConformanceOfLateProvider runs the suite on a late provider that has been opened.
func TestConformanceOfLateProvider(t *testing.T) {
	h := fake.Harness(func(p *fake.Provider) runtime.Provider {
		late := NewLazyProvider(func(context.Context) (runtime.Provider, error) { return p, nil })
		if _, err := late.try(t.Context()); err != nil {
			t.Error(err)
		}
		return late
	})
	for _, r := range runtimetest.Run(t, h) {
		if r.Status != runtimetest.Passed {
			t.Errorf("%s %s: %v", r.ID, r.Status, r.Detail)
		}
	}
}

func TestLateProviderHasNoSessionsUntilItIsOpen(t *testing.T) {
	missing := errors.New("no such tool")
	var p runtime.Provider
	late := NewLazyProvider(func(context.Context) (runtime.Provider, error) {
		if p == nil {
			return nil, missing
		}
		return p, nil
	})
	events, err := late.Watch(t.Context())
	if err != nil || (<-events).Kind != runtime.EventResync {
		t.Fatalf("Watch = %v", err)
	}
	if err := late.Start(t.Context(), "a", runtime.Config{}); !errors.Is(err, missing) {
		t.Errorf("Start = %v, want why it is not there", err)
	}
	names, err := late.ListRunning("")
	obs, obsErr := runtime.Observe(t.Context(), late, "a")
	if len(names) > 0 || obs.Session != runtime.Dead || errors.Join(err, obsErr, late.Stop("a")) != nil {
		t.Errorf("it holds %v, %v; %v %v", names, obs.Session, err, obsErr)
	}
	p = fake.New()
	if err := late.Start(t.Context(), "a", runtime.Config{}); err != nil || !p.IsRunning("a") || !late.IsRunning("a") {
		t.Errorf("Start = %v once it is there", err)
	}
	for range events {
	}
	if _, ok := runtime.As[runtime.Deliverer](late, "a"); !ok {
		t.Error("the provider's extensions are hidden")
	}
}

// A missing script is detected before a start, and the check creates nothing.
func TestVersionLooksForScripts(t *testing.T) {
	cfg := blank(t)
	for script, want := range map[string]string{"exec:./none": "./none", "exec:none": "PATH", "exec:./plain": "not executable", "exec:./good": ""} {
		for name, mode := range map[string]os.FileMode{"plain": 0o600, "good": 0o700} {
			if err := os.WriteFile(filepath.Join(cfg.WorkDir, name), []byte("#!/bin/sh\nexit 2\n"), mode); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Version(t.Context(), script, cfg)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Version(%s) = %v, want %q", script, err, want)
		}
	}
	if made, err := os.ReadDir(cfg.WorkDir); err != nil || len(made) != 2 {
		t.Errorf("looking made %v, %v", made, err)
	}
}
