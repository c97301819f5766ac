package runtimetest

import (
	"context"
	"os"
	"sync"
	"syscall"

	"gascity/runtime"
)

// FakeHarness returns a harness over fakes: each world has one, with
// [RunShell], and the suite runs on what wrap makes of it. It proves routers,
// wrappers and wires without any agent process. A nil wrap is none.
func FakeHarness(wrap func(*Fake) runtime.Provider) Harness {
	if wrap == nil {
		wrap = func(f *Fake) runtime.Provider { return f }
	}
	worlds := &fakeWorlds{fakes: map[string]*Fake{}}
	open := func(_ T, dir string) runtime.Provider { return wrap(worlds.open(dir)) }
	return Harness{
		New:    open,
		Reopen: open,
		Agent:  NewFake().Agent,
		Elsewhere: func(ctx context.Context, dir, name string, cfg runtime.Config) error {
			return wrap(worlds.open(dir)).Start(ctx, name, cfg)
		},
		Place: worlds,
	}
}

// fakeWorlds maps the folder of each world to its fake, and is the place of all
// their agents: models of different fakes never share a number.
type fakeWorlds struct {
	mu    sync.Mutex
	fakes map[string]*Fake
}

func (w *fakeWorlds) open(dir string) *Fake {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, ok := w.fakes[dir]; ok {
		return f.Reopen()
	}
	f := NewFake()
	f.Shell = RunShell
	w.fakes[dir] = f
	return f
}

func (w *fakeWorlds) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

func (w *fakeWorlds) Alive(pid int) bool {
	if pid < firstFakePID {
		return Local{}.Alive(pid)
	}
	return w.owner(pid) != nil
}

func (w *fakeWorlds) Kill(pid int) error {
	if pid < firstFakePID {
		return Local{}.Kill(pid)
	}
	if f := w.owner(pid); f != nil {
		return f.Place().Kill(pid)
	}
	return syscall.ESRCH
}

// owner returns the fake in whose world the process lives.
func (w *fakeWorlds) owner(pid int) *Fake {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.fakes {
		if f.Place().Alive(pid) {
			return f
		}
	}
	return nil
}
