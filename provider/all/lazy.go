package all

import (
	"context"
	"sync"
	"time"

	"gascity/internal/driver"
	"gascity/runtime"
)

// LazyProvider is a provider that is opened at the first start. It represents a provider that
// this program does not have, or whose tools are missing, and that never held a session. Until it
// is open it reports no sessions. A start tries to open it, and returns the error if that fails.
// Once open, it forwards all calls.
//
// It is safe for concurrent use.
type LazyProvider struct {
	driver.Forwarder

	open func(ctx context.Context) (runtime.Provider, error)

	mu     sync.Mutex
	inner  runtime.Provider // nil until it is open
	opened chan struct{}    // closed when inner is open
}

var (
	_ runtime.Provider = (*LazyProvider)(nil)
	_ runtime.Router   = (*LazyProvider)(nil)
	_ runtime.Observer = (*LazyProvider)(nil)
	_ runtime.Watcher  = (*LazyProvider)(nil)
)

// NewLazyProvider returns a provider that open will open. It calls open at each start until open
// succeeds.
func NewLazyProvider(open func(ctx context.Context) (runtime.Provider, error)) *LazyProvider {
	l := &LazyProvider{open: open, opened: make(chan struct{})}
	l.Call = l.callOpen
	return l
}

// Route implements runtime.Router.
func (l *LazyProvider) Route(string) runtime.Provider { return l.ready() }

// ready returns the provider if it is open already, else nil. It does not open it.
func (l *LazyProvider) ready() runtime.Provider {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inner
}

// Open tries to open the provider, as a start does. It returns nil if the provider is open.
func (l *LazyProvider) Open(ctx context.Context) error {
	_, err := l.try(ctx)
	return err
}

// Start implements runtime.Runner.
func (l *LazyProvider) Start(ctx context.Context, name string, cfg runtime.Config) error {
	p, err := l.try(ctx)
	if err != nil {
		return &runtime.Error{Op: "start", Session: name, Err: err}
	}
	return p.Start(ctx, name, cfg)
}

// try returns the provider. It opens the provider first if necessary.
func (l *LazyProvider) try(ctx context.Context) (runtime.Provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inner != nil {
		return l.inner, nil
	}
	p, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	l.inner = p
	close(l.opened)
	return p, nil
}

// Observe implements runtime.Observer.
func (l *LazyProvider) Observe(ctx context.Context, name string) (runtime.Observation, error) {
	if p := l.ready(); p != nil {
		return runtime.Observe(ctx, p, name)
	}
	return runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead, At: time.Now()}, nil
}

// Watch implements runtime.Watcher. Before the provider is open, the events end when it is opened.
// The next Watch returns the events of the provider.
func (l *LazyProvider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if p := l.ready(); p != nil {
		return runtime.Watch(ctx, p)
	}
	events := make(chan runtime.Event, 1)
	events <- runtime.Event{Kind: runtime.EventResync, Time: time.Now()}
	go func() {
		defer close(events)
		select {
		case <-l.opened:
		case <-ctx.Done():
		}
	}()
	return events, nil
}

// Close closes the provider if it is open.
func (l *LazyProvider) Close() error {
	if p := l.ready(); p != nil {
		return Close(p)
	}
	return nil
}

// callOpen calls do with the provider. If the provider is not open, the session does not exist.
func (l *LazyProvider) callOpen(op, name string, do func(runtime.Provider) error) error {
	if p := l.ready(); p != nil {
		return do(p)
	}
	return &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
}

// Stop implements runtime.Runner.
func (l *LazyProvider) Stop(name string) error {
	if p := l.ready(); p != nil {
		return p.Stop(name)
	}
	return nil
}

// ListRunning implements runtime.Inspector.
func (l *LazyProvider) ListRunning(prefix string) ([]string, error) {
	if p := l.ready(); p != nil {
		return p.ListRunning(prefix)
	}
	return nil, nil
}

// Capabilities reports no capability until the provider is open.
func (l *LazyProvider) Capabilities() runtime.ProviderCapabilities {
	if p := l.ready(); p != nil {
		return p.Capabilities()
	}
	return runtime.ProviderCapabilities{}
}
