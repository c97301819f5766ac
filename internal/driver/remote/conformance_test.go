package remote_test

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gascity/internal/driver/remote"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
)

// remoteMachine is the other machine: each connection is served by its own outpost.
type remoteMachine struct {
	provider runtime.Provider
	dir      string
	work     sync.WaitGroup
	end      context.CancelFunc
	life     context.Context //nolint:containedctx // of a test

	mu    sync.Mutex
	conns []net.Conn
	dials int
	down  error // why no connection can be made
}

func newRemoteMachine(p runtime.Provider, dir string) *remoteMachine {
	f := &remoteMachine{provider: p, dir: dir}
	f.life, f.end = context.WithCancel(context.Background()) //nolint:forbidigo // ends with close
	return f
}

func (f *remoteMachine) dial(context.Context) (io.ReadWriteCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		return nil, f.down
	}
	f.dials++
	here, there := net.Pipe()
	f.conns = append(f.conns, there)
	f.work.Go(func() {
		_ = remote.Serve(f.life, f.provider, there, remote.ServeOptions{Dir: f.dir, Version: "test"}) // a cut is an error
	})
	return here, nil
}

// closeConnections ends all connections as a lost link does, and lets no new one be made until err is
// nil.
func (f *remoteMachine) closeConnections(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = err
	for _, c := range f.conns {
		c.Close()
	}
	f.conns = nil
}

func (f *remoteMachine) close() {
	f.end()
	f.work.Wait()
}

func capabilities(p runtime.Provider) runtime.ProviderCapabilities {
	c := p.Capabilities()
	c.CanStream = true
	return c
}

// The whole contract through the wire, with nothing left out but the caller's terminal.
func TestConformance(t *testing.T) {
	var mu sync.Mutex
	var ends []func()
	h := fake.Harness(func(f *fake.Provider) runtime.Provider {
		there := newRemoteMachine(f, filepath.Join(t.TempDir(), "far"))
		p := remote.Open(remote.Options{Where: "the far machine", Dial: there.dial, Capabilities: capabilities(f)})
		mu.Lock()
		ends = append(ends, func() { p.Close(); there.close() })
		mu.Unlock()
		return p
	})
	results := runtimetest.Run(t, h)
	for _, end := range ends {
		end()
	}
	for _, r := range results {
		if r.Status == runtimetest.NotApplicable && !strings.Contains(strings.Join(r.Detail, " "), string(runtimetest.NeedAttach)) {
			t.Errorf("%s was not tried: %q", r.ID, r.Detail)
		}
	}
}
