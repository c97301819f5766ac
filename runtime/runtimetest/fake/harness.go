package fake

import (
	"context"
	"os"
	"sync"
	"syscall"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

// Harness returns a harness over fakes. Each world has a fake with [RunShell], and the suite runs
// on the provider that wrap returns for it. It tests routers, wrappers and wire formats without any
// agent process. A nil wrap returns the fake itself.
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

// worlds maps the directory of each world to its fake. It is the Place of all their agents. Each fake
// has its own range of process ids, because the suite finds and kills an agent by its id alone.
type worlds struct {
	mu    sync.Mutex
	fakes map[string]*Provider
}

// open returns a provider over the state of dir. The first call creates it; a later call opens it
// again, as after a restart.
func (w *worlds) open(dir string) *Provider {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, ok := w.fakes[dir]; ok {
		return f.Reopen()
	}
	f := New()
	f.world.lastPID = firstPID + len(w.fakes)<<20
	f.Shell = RunShell
	w.fakes[dir] = f
	return f
}

func (w *worlds) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

// Alive reports whether a process runs: a simulated one of these worlds, or a real one of this machine.
func (w *worlds) Alive(pid int) bool {
	if pid < firstPID {
		return runtimetest.Local{}.Alive(pid)
	}
	return w.owner(pid) != nil
}

// Kill kills a simulated process, or a real process if the pid is one.
func (w *worlds) Kill(pid int) error {
	if pid < firstPID {
		return runtimetest.Local{}.Kill(pid)
	}
	if f := w.owner(pid); f != nil {
		return f.Place().Kill(pid)
	}
	return syscall.ESRCH
}

// owner returns the fake that has the process.
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
