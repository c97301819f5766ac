// Package router is a provider over others. It has one mechanism, Route, and two
// policies: [Auto] chooses by transport, [Hybrid] by name.
//
// A policy says where a session belongs, and reads durable data only. Where a
// session really is, its backends say: a session that runs elsewhere than its
// policy would have it, since the configuration was edited or another process
// started it, is found, used and stopped where it is. The router keeps no table of
// sessions, so another one over the same backends routes the same.
//
// What cannot be proved is not claimed. As long as one backend does not answer, a
// session that is at none of the others is unknown: it is not started, and not
// called stopped.
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

	"gascity/runtime"
)

// Config is what a router is made of. Policy and Backends are required.
type Config struct {
	Policy   Policy
	Backends []Backend
	// Transport returns which transport a session is configured for, empty for
	// its backend's own. It reads durable data. Nil: every session has its
	// backend's.
	Transport func(session string) string
	// Timeout is how long a backend may take to answer a question before it counts
	// as one that cannot be asked; zero means 10 s.
	Timeout time.Duration
	// Pause is the longest time between two tries to watch a backend again, and
	// between two calls to look at one that pushes nothing; zero means 30 s.
	Pause time.Duration
}

// Backend is one of the places.
type Backend struct {
	Name     string           // as policies and errors call it
	Provider runtime.Provider // nil if it cannot be asked
	Err      error            // why, then
}

// Provider routes sessions to backends. It is safe for concurrent use.
type Provider struct {
	cfg      Config
	backends []*backend

	mu     sync.Mutex
	starts map[string]*runningStarts

	asking sync.WaitGroup // questions under way
}

type backend struct{ Backend }

// runningStarts is the starts of one session that are under way, all at one backend.
type runningStarts struct {
	backend *backend
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

// Open returns a router. It asks nothing of its backends, which it closes in the
// end.
func Open(cfg Config) (*Provider, error) {
	cfg.Timeout, cfg.Pause = cmp.Or(cfg.Timeout, 10*time.Second), cmp.Or(cfg.Pause, 30*time.Second)
	p := &Provider{cfg: cfg, starts: map[string]*runningStarts{}}
	for _, b := range cfg.Backends {
		if b.Name == "" || p.named(b.Name) != nil {
			return nil, fmt.Errorf("a router needs backends of different names, not %q twice", b.Name)
		}
		if b.Provider == nil && b.Err == nil {
			return nil, fmt.Errorf("the backend %s of a router has neither a provider nor a reason", b.Name)
		}
		p.backends = append(p.backends, &backend{b})
	}
	if cfg.Policy == nil || len(p.backends) == 0 {
		return nil, errors.New("a router needs a policy and at least one backend")
	}
	return p, nil
}

func (p *Provider) named(name string) *backend {
	i := slices.IndexFunc(p.backends, func(b *backend) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return p.backends[i]
}

// policyBackend returns where the policy would have the session.
func (p *Provider) policyBackend(session string) (*backend, error) {
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

func (p *Provider) names() []string {
	names := make([]string, len(p.backends))
	for i, b := range p.backends {
		names[i] = b.Name
	}
	return names
}

// Route implements runtime.Router: it returns the backend where the
// session is, or where it would be started if it is nowhere, and nil if that is
// unknown. The empty name is served by the first backend.
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

// Capabilities returns what all backends report; [runtime.CapabilitiesFor] returns
// what the backend of one session reports.
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

// SupportsTransport keeps the contract of
// runtime.TransportCapabilityProvider: every backend that the policy may choose
// for the transport is there and supports it.
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

// TeardownServer ends the server of every backend that has one.
func (p *Provider) TeardownServer() error { return p.servers(runtime.TeardownServer) }

func (p *Provider) servers(do func(runtime.Provider) error) error {
	var errs []error
	for _, b := range p.backends {
		if b.Provider != nil {
			errs = append(errs, b.wrap(do(b.Provider)))
		}
	}
	return errors.Join(errs...)
}

// Close closes every backend. Their sessions go on.
func (p *Provider) Close() error {
	var errs []error
	for _, b := range p.backends {
		if closer, ok := b.Provider.(io.Closer); ok {
			errs = append(errs, b.wrap(closer.Close()))
		}
	}
	answered := make(chan struct{})
	go func() {
		p.asking.Wait()
		close(answered)
	}()
	limit := time.NewTimer(p.cfg.Timeout)
	defer limit.Stop()
	select {
	case <-answered:
	case <-limit.C:
		errs = append(errs, errors.New("a backend of the router still owes an answer"))
	}
	return errors.Join(errs...)
}

// context bounds the questions of the methods that have no ctx of their own.
func (p *Provider) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), p.cfg.Timeout) //nolint:forbidigo // those methods of the contract have no ctx
}
