// Package router implements a provider that routes each session to one of several backends. It has
// one mechanism, Route, and two policies: [Auto] chooses by transport, [Hybrid] by name.
//
// A policy reads durable data only and names the backend where a session belongs. The session may
// run at another backend, because the configuration changed or because another process started it.
// The router asks the backends, and finds, uses and stops the session where it is. It stores no
// table of sessions, so another router over the same backends routes in the same way.
//
// The router claims only what the backends prove. While one backend does not answer, a session that
// no other backend has is unknown: the router does not start it and does not report it as stopped.
package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"gascity/internal/driver"
	"gascity/runtime"
)

// Config configures a router. Policy and Backends are required.
type Config struct {
	Policy   Policy
	Backends []Backend
	// Transport returns the transport that a session is configured for; empty means the transport
	// of its backend. It reads durable data. If it is nil, every session has the transport of its
	// backend.
	Transport func(session string) string
	// Timeout bounds one query to a backend. A backend that does not answer in this time counts as
	// unavailable. Zero means 10 s.
	Timeout time.Duration
	// Pause is the longest time between two attempts to watch a backend again, and the time between
	// two resync events for a backend that has no events. Zero means 30 s.
	Pause time.Duration
}

// Backend is one of the providers that a router chooses from.
type Backend struct {
	Name     string           // the name in policies and errors
	Provider runtime.Provider // nil if it could not be opened
	Err      error            // the reason if Provider is nil
}

// Provider routes sessions to backends. It is safe for concurrent use.
type Provider struct {
	driver.Forwarder

	cfg      Config
	backends []*Backend

	mu     sync.Mutex
	starts map[string]*runningStarts

	queries sync.WaitGroup // running calls of backends
}

// runningStarts counts the running starts of one session. All are at one backend.
type runningStarts struct {
	backend *Backend
	count   int
}

var (
	_ runtime.Provider                    = (*Provider)(nil)
	_ runtime.Router                      = (*Provider)(nil)
	_ runtime.Observer                    = (*Provider)(nil)
	_ runtime.Watcher                     = (*Provider)(nil)
	_ runtime.Recoverer                   = (*Provider)(nil)
	_ runtime.Fencer                      = (*Provider)(nil)
	_ runtime.ProcessTableScanner         = (*Provider)(nil)
	_ runtime.ServerLifecycleProvider     = (*Provider)(nil)
	_ runtime.TransportCapabilityProvider = (*Provider)(nil)
)

// Open returns a router. It calls no backend. Close of the router closes the backends.
func Open(cfg Config) (*Provider, error) {
	cfg.Timeout, cfg.Pause = cmp.Or(cfg.Timeout, 10*time.Second), cmp.Or(cfg.Pause, 30*time.Second)
	p := &Provider{cfg: cfg, starts: map[string]*runningStarts{}}
	p.Call = p.callBackend
	for _, b := range cfg.Backends {
		if b.Name == "" || p.named(b.Name) != nil {
			return nil, fmt.Errorf("each backend of a router needs a name of its own; %q is empty or occurs twice", b.Name)
		}
		if b.Provider == nil && b.Err == nil {
			return nil, fmt.Errorf("the backend %s of a router has no provider, and no error that says why", b.Name)
		}
		p.backends = append(p.backends, &b)
	}
	if cfg.Policy == nil || len(p.backends) == 0 {
		return nil, errors.New("a router needs a policy and at least one backend")
	}
	return p, nil
}

// named returns the backend with a name; nil if the router has none.
func (p *Provider) named(name string) *Backend {
	i := slices.IndexFunc(p.backends, func(b *Backend) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return p.backends[i]
}

// policyBackend returns the backend that the policy names for the session.
func (p *Provider) policyBackend(session string) (*Backend, error) {
	transport := ""
	if p.cfg.Transport != nil {
		transport = p.cfg.Transport(session)
	}
	name := p.cfg.Policy.Backend(session, transport)
	if b := p.named(name); b != nil {
		return b, nil
	}
	return nil, &NoBackendError{Backend: name, Known: p.names()}
}

// names returns the names of all backends.
func (p *Provider) names() []string {
	names := make([]string, len(p.backends))
	for i, b := range p.backends {
		names[i] = b.Name
	}
	return names
}

// Route implements runtime.Router. It returns the backend that has the session, or the backend that
// would start it if no backend has it. It returns nil if the backend is unknown. For the empty name
// it returns the first backend.
func (p *Provider) Route(session string) runtime.Provider {
	if session == "" {
		return p.backends[0].Provider
	}
	b, err := p.at("find", session)
	if err != nil {
		return nil
	}
	return b.Provider
}

// Capabilities returns the capabilities that all backends have. [runtime.CapabilitiesFor] returns
// the capabilities of the backend of one session.
func (p *Provider) Capabilities() runtime.ProviderCapabilities {
	all := runtime.ProviderCapabilities{CanReportAttachment: true, CanReportActivity: true, CanStream: true, CanAttachTTY: true}
	for _, b := range p.backends {
		if b.Provider == nil {
			continue
		}
		c := b.Provider.Capabilities()
		all.CanReportAttachment = all.CanReportAttachment && c.CanReportAttachment
		all.CanReportActivity = all.CanReportActivity && c.CanReportActivity
		all.CanStream = all.CanStream && c.CanStream
		all.CanAttachTTY = all.CanAttachTTY && c.CanAttachTTY
	}
	return all
}

// SupportsTransport implements runtime.TransportCapabilityProvider. It reports whether every
// backend that the policy may choose for the transport is open and supports it.
func (p *Provider) SupportsTransport(transport string) bool {
	for _, name := range p.cfg.Policy.Backends(transport) {
		b := p.named(name)
		if b == nil || b.Provider == nil || !runtime.SupportsTransport(b.Provider, transport) {
			return false
		}
	}
	return true
}

// ConfigureServer configures the server of every backend that has one.
func (p *Provider) ConfigureServer() error { return p.servers(runtime.ConfigureServer) }

// TeardownServer stops the server of every backend that has one.
func (p *Provider) TeardownServer() error { return p.servers(runtime.TeardownServer) }

// servers calls do for each backend that could be opened, and joins the errors.
func (p *Provider) servers(do func(runtime.Provider) error) error {
	var errs []error
	for _, b := range p.backends {
		if b.Provider != nil {
			errs = append(errs, b.wrap(do(b.Provider)))
		}
	}
	return errors.Join(errs...)
}

// Close closes every backend. The sessions continue to run.
func (p *Provider) Close() error {
	var errs []error
	for _, b := range p.backends {
		if closer, ok := b.Provider.(io.Closer); ok {
			errs = append(errs, b.wrap(closer.Close()))
		}
	}
	answered := make(chan struct{})
	go func() {
		p.queries.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(p.cfg.Timeout):
		errs = append(errs, errors.New("a backend of the router did not answer a query in time"))
	}
	return errors.Join(errs...)
}

// context returns a context with the query timeout, for methods that have no ctx parameter.
func (p *Provider) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), p.cfg.Timeout) //nolint:forbidigo // those methods of the contract have no ctx
}
