package all

import (
	"context"
	"sync"
	"time"

	"gascity/runtime"
)

// LazyProvider is a provider that is opened at the first start. It represents a provider that
// this program does not have, or whose tools are missing, and that never held a session. Until it
// is open it reports no sessions. A start tries to open it, and returns the error if that fails.
// Once open, it forwards all calls.
//
// It is safe for concurrent use.
type LazyProvider struct {
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
	return &LazyProvider{open: open, opened: make(chan struct{})}
}

// Route implements runtime.Router.
func (l *LazyProvider) Route(string) runtime.Provider { return l.now() }

// now returns the open provider, or nil.
func (l *LazyProvider) now() runtime.Provider {
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
	if p := l.now(); p != nil {
		return runtime.Observe(ctx, p, name)
	}
	return runtime.Observation{Session: runtime.Dead, Agent: runtime.Dead, At: time.Now()}, nil
}

// Watch implements runtime.Watcher. Before the provider is open, the events end when it is opened.
// The next Watch returns the events of the provider.
func (l *LazyProvider) Watch(ctx context.Context) (<-chan runtime.Event, error) {
	if p := l.now(); p != nil {
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
	if p := l.now(); p != nil {
		return Close(p)
	}
	return nil
}

// missing returns the error of an operation that needs a session: the session does not exist.
func missing(op, name string) error {
	return &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
}

// callOr returns the result of operation. If the provider is not open, it returns a zero value and
// otherwise.
func callOr[V any](l *LazyProvider, operation func(runtime.Provider) (V, error), otherwise error) (V, error) {
	if p := l.now(); p != nil {
		return operation(p)
	}
	var none V
	return none, otherwise
}

// call returns the error of operation. If the provider is not open, it returns otherwise.
func (l *LazyProvider) call(operation func(runtime.Provider) error, otherwise error) error {
	if p := l.now(); p != nil {
		return operation(p)
	}
	return otherwise
}

// Stop implements runtime.Runner.
func (l *LazyProvider) Stop(name string) error {
	return l.call(func(p runtime.Provider) error { return p.Stop(name) }, nil)
}

// Interrupt implements runtime.Runner.
func (l *LazyProvider) Interrupt(name string) error {
	return l.call(func(p runtime.Provider) error { return p.Interrupt(name) }, nil)
}

// IsRunning implements runtime.Inspector.
func (l *LazyProvider) IsRunning(name string) bool {
	p := l.now()
	return p != nil && p.IsRunning(name)
}

// IsAttached implements runtime.Inspector.
func (l *LazyProvider) IsAttached(name string) bool {
	p := l.now()
	return p != nil && p.IsAttached(name)
}

// ProcessAlive implements runtime.Inspector.
func (l *LazyProvider) ProcessAlive(name string, processNames []string) bool {
	p := l.now()
	return len(processNames) == 0 || p != nil && p.ProcessAlive(name, processNames)
}

// ListRunning implements runtime.Inspector.
func (l *LazyProvider) ListRunning(prefix string) ([]string, error) {
	return callOr(l, func(p runtime.Provider) ([]string, error) { return p.ListRunning(prefix) }, nil)
}

// GetLastActivity implements runtime.Inspector.
func (l *LazyProvider) GetLastActivity(name string) (time.Time, error) {
	return callOr(l, func(p runtime.Provider) (time.Time, error) { return p.GetLastActivity(name) }, nil)
}

// Attach implements runtime.Input.
func (l *LazyProvider) Attach(name string) error {
	return l.call(func(p runtime.Provider) error { return p.Attach(name) }, missing("attach to", name))
}

// Nudge implements runtime.Input.
func (l *LazyProvider) Nudge(name string, content []runtime.ContentBlock) error {
	otherwise := missing("nudge", name)
	if len(content) == 0 {
		otherwise = nil
	}
	return l.call(func(p runtime.Provider) error { return p.Nudge(name, content) }, otherwise)
}

// SendKeys implements runtime.Input.
func (l *LazyProvider) SendKeys(name string, keys ...string) error {
	return l.call(func(p runtime.Provider) error { return p.SendKeys(name, keys...) }, nil)
}

// Peek implements runtime.Output.
func (l *LazyProvider) Peek(name string, lines int) (string, error) {
	return callOr(l, func(p runtime.Provider) (string, error) { return p.Peek(name, lines) }, missing("peek at", name))
}

// ClearScrollback implements runtime.Output.
func (l *LazyProvider) ClearScrollback(name string) error {
	return l.call(func(p runtime.Provider) error { return p.ClearScrollback(name) }, nil)
}

// SetMeta implements runtime.MetaStore.
func (l *LazyProvider) SetMeta(name, key, value string) error {
	return l.call(func(p runtime.Provider) error { return p.SetMeta(name, key, value) }, missing("set metadata of", name))
}

// GetMeta implements runtime.MetaStore.
func (l *LazyProvider) GetMeta(name, key string) (string, error) {
	return callOr(l, func(p runtime.Provider) (string, error) { return p.GetMeta(name, key) }, missing("read metadata of", name))
}

// RemoveMeta implements runtime.MetaStore.
func (l *LazyProvider) RemoveMeta(name, key string) error {
	return l.call(func(p runtime.Provider) error { return p.RemoveMeta(name, key) }, missing("remove metadata of", name))
}

// CopyTo implements runtime.Stager.
func (l *LazyProvider) CopyTo(name, src, relDst string) error {
	return l.call(func(p runtime.Provider) error { return p.CopyTo(name, src, relDst) }, missing("copy to", name))
}

// RunLive implements runtime.Stager.
func (l *LazyProvider) RunLive(name string, cfg runtime.Config) error {
	return l.call(func(p runtime.Provider) error { return p.RunLive(name, cfg) }, missing("apply session_live to", name))
}

// Capabilities reports no capability until the provider is open.
func (l *LazyProvider) Capabilities() runtime.ProviderCapabilities {
	if p := l.now(); p != nil {
		return p.Capabilities()
	}
	return runtime.ProviderCapabilities{}
}
