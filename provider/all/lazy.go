package all

import (
	"context"
	"sync"
	"time"

	"gascity/runtime"
)

// LazyProvider is a place that is not there yet: a provider that this program does not
// have, or whose tools are missing, and where no session has ever been. It holds no
// session; a start tries to open the provider, and fails with why it cannot be
// opened. Once it is open, it is that provider.
//
// It is safe for concurrent use.
type LazyProvider struct {
	open func(ctx context.Context) (runtime.Provider, error)

	mu     sync.Mutex
	inner  runtime.Provider // nil until it is open
	opened chan struct{}    // closed then
}

var (
	_ runtime.Provider = (*LazyProvider)(nil)
	_ runtime.Router   = (*LazyProvider)(nil)
	_ runtime.Observer = (*LazyProvider)(nil)
	_ runtime.Watcher  = (*LazyProvider)(nil)
)

// NewLazyProvider returns a place that open will open. It is called for each start until it
// succeeds.
func NewLazyProvider(open func(ctx context.Context) (runtime.Provider, error)) *LazyProvider {
	return &LazyProvider{open: open, opened: make(chan struct{})}
}

// Route implements runtime.Router.
func (l *LazyProvider) Route(string) runtime.Provider { return l.now() }

func (l *LazyProvider) now() runtime.Provider {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inner
}

// Open tries to open the provider, as a start does. It is nil once it is open.
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

// Watch implements runtime.Watcher. Before the provider is open the
// events end with its opening: the next watch is the provider's.
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

// missing is the error of an operation that needs a session.
func missing(op, name string) error {
	return &runtime.Error{Op: op, Session: name, Err: runtime.ErrSessionNotFound}
}

// callOr asks the provider, or answers for a place without sessions.
func callOr[V any](l *LazyProvider, question func(runtime.Provider) (V, error), otherwise error) (V, error) {
	if p := l.now(); p != nil {
		return question(p)
	}
	var none V
	return none, otherwise
}

// call is ask without an answer.
func (l *LazyProvider) call(order func(runtime.Provider) error, otherwise error) error {
	if p := l.now(); p != nil {
		return order(p)
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

// IsRunning keeps the contract of runtime.Inspector.
func (l *LazyProvider) IsRunning(name string) bool {
	p := l.now()
	return p != nil && p.IsRunning(name)
}

// IsAttached keeps the contract of runtime.Inspector.
func (l *LazyProvider) IsAttached(name string) bool {
	p := l.now()
	return p != nil && p.IsAttached(name)
}

// ProcessAlive keeps the contract of runtime.Inspector.
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

// Capabilities claims nothing before the provider is open.
func (l *LazyProvider) Capabilities() runtime.ProviderCapabilities {
	if p := l.now(); p != nil {
		return p.Capabilities()
	}
	return runtime.ProviderCapabilities{}
}
