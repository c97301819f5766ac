package fake

import (
	"context"
	"os"
	"sync"
	"syscall"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// Harness returns a harness over fakes: each world has one, with
// [RunShell], and the suite runs on what wrap makes of it. It proves routers,
// wrappers and wires without any agent process. A nil wrap is none.
func Harness(wrap func(*Provider) runtime.Provider) runtimetest.Harness {
	if wrap == nil {
		wrap = func(f *Provider) runtime.Provider { return f }
	}
	worlds := &worlds{fakes: map[string]*Provider{}}
	open := func(_ runtimetest.T, dir string) runtime.Provider { return wrap(worlds.open(dir)) }
	return runtimetest.Harness{
		New:    open,
		Reopen: open,
		Agent:  New().Agent,
		Elsewhere: func(ctx context.Context, dir, name string, cfg runtime.Config) error {
			return wrap(worlds.open(dir)).Start(ctx, name, cfg)
		},
		Place: worlds,
	}
}

// worlds maps the folder of each world to its fake, and is the place of all
// their agents: models of different fakes never share a number.
type worlds struct {
	mu    sync.Mutex
	fakes map[string]*Provider
}

func (w *worlds) open(dir string) *Provider {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, ok := w.fakes[dir]; ok {
		return f.Reopen()
	}
	f := New()
	f.Shell = RunShell
	w.fakes[dir] = f
	return f
}

func (w *worlds) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

func (w *worlds) Alive(pid int) bool {
	if pid < firstPID {
		return runtimetest.Local{}.Alive(pid)
	}
	return w.owner(pid) != nil
}

func (w *worlds) Kill(pid int) error {
	if pid < firstPID {
		return runtimetest.Local{}.Kill(pid)
	}
	if f := w.owner(pid); f != nil {
		return f.Place().Kill(pid)
	}
	return syscall.ESRCH
}

// owner returns the fake in whose world the process lives.
func (w *worlds) owner(pid int) *Provider {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.fakes {
		if f.Place().Alive(pid) {
			return f
		}
	}
	return nil
}
