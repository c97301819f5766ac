package router_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gascity/provider/router"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

const near, far = "near", "far"

// pairs maps the directory of each world to its two fakes, and is the Place of all their agents.
type pairs struct {
	mu    sync.Mutex
	fakes map[string][2]*fake.Provider
}

func (w *pairs) open(dir string) [2]*fake.Provider {
	w.mu.Lock()
	defer w.mu.Unlock()
	if pair, ok := w.fakes[dir]; ok {
		return [2]*fake.Provider{pair[0].Reopen(), pair[1].Reopen()}
	}
	pair := [2]*fake.Provider{fake.New(), fake.New()}
	for _, f := range pair {
		f.Shell = fake.RunShell
	}
	w.fakes[dir] = pair
	return pair
}

func (w *pairs) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

func (w *pairs) Alive(pid int) bool { return w.owner(pid) != nil || (runtimetest.Local{}).Alive(pid) }

func (w *pairs) Kill(pid int) error {
	if f := w.owner(pid); f != nil {
		return f.Place().Kill(pid)
	}
	if (runtimetest.Local{}).Alive(pid) {
		return runtimetest.Local{}.Kill(pid)
	}
	return syscall.ESRCH
}

func (w *pairs) owner(pid int) *fake.Provider {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pair := range w.fakes {
		for _, f := range pair {
			if f.Place().Alive(pid) {
				return f
			}
		}
	}
	return nil
}

// harness runs the suite on a router over two fakes.
func harness(cfg router.Config) runtimetest.Harness {
	worlds := &pairs{fakes: map[string][2]*fake.Provider{}}
	open := func(dir string) (runtime.Provider, error) {
		pair := worlds.open(dir)
		own := cfg
		own.Backends = []router.Backend{{Name: near, Provider: pair[0]}, {Name: far, Provider: pair[1]}}
		return router.Open(own)
	}
	must := func(t runtimetest.T, dir string) runtime.Provider {
		p, err := open(dir)
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		return p
	}
	return runtimetest.Harness{
		New: must, Reopen: must, Agent: fake.New().Agent, Place: worlds,
		Elsewhere: func(ctx context.Context, dir, name string, cfg runtime.Config) error {
			p, err := open(dir)
			if err != nil {
				return err
			}
			return p.Start(ctx, name, cfg)
		},
	}
}

// TestConformance runs the suite under both policies with the sessions of each case
// spread over both backends.
func TestConformance(t *testing.T) {
	spread := func(session string) string {
		if strings.Count(session, "a")%2 == 1 {
			return router.TransportACP
		}
		return ""
	}
	for name, cfg := range map[string]router.Config{
		"auto":   {Policy: router.Auto{Default: near, ACP: far}, Transport: spread},
		"hybrid": {Policy: router.Hybrid{Local: near, Remote: far, Match: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range runtimetest.Run(t, harness(cfg)) {
				if r.Status != runtimetest.Passed {
					t.Errorf("%s %s, but the fakes have everything: %v", r.ID, r.Status, r.Detail)
				}
			}
		})
	}
}

// TestOpen checks that a router with missing options is refused.
func TestOpen(t *testing.T) {
	one := router.Backend{Name: near, Provider: fake.New()}
	for name, cfg := range map[string]router.Config{
		"no policy":   {Backends: []router.Backend{one}},
		"no backend":  {Policy: router.Auto{Default: near}},
		"two of one":  {Policy: router.Auto{Default: near}, Backends: []router.Backend{one, one}},
		"no name":     {Policy: router.Auto{Default: near}, Backends: []router.Backend{{Provider: fake.New()}}},
		"no provider": {Policy: router.Auto{Default: near}, Backends: []router.Backend{{Name: near}}},
	} {
		if _, err := router.Open(cfg); err == nil {
			t.Errorf("a router with %s opens", name)
		}
	}
	absent := router.Backend{Name: near, Err: errors.New("no disk")}
	if _, err := router.Open(router.Config{Policy: router.Auto{Default: near}, Backends: []router.Backend{absent}}); err != nil {
		t.Errorf("a backend that is away keeps the router from opening: %v", err)
	}
}
