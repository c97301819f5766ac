package fake

import (
	"context"
	"time"

	"gascity/runtime"
)

// The facets of package runtime, each call with the fault that concerns it.

// Start is a facet's method.
func (p *Faulty) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return p.around(forCtx(ctx), "Start", name, func() error { return p.inner.Start(ctx, name, cfg) })
}

// Stop is a facet's method.
func (p *Faulty) Stop(name string) error {
	return p.around(forEver, "Stop", name, func() error { return p.inner.Stop(name) })
}

// Interrupt is a facet's method.
func (p *Faulty) Interrupt(name string) error {
	return p.around(forEver, "Interrupt", name, func() error { return p.inner.Interrupt(name) })
}

// IsRunning is a facet's method.
func (p *Faulty) IsRunning(name string) bool {
	return callSimple(p, "IsRunning", name, func() bool { return p.inner.IsRunning(name) })
}

// IsAttached is a facet's method.
func (p *Faulty) IsAttached(name string) bool {
	return callSimple(p, "IsAttached", name, func() bool { return p.inner.IsAttached(name) })
}

// ProcessAlive is a facet's method.
func (p *Faulty) ProcessAlive(name string, processNames []string) bool {
	return callSimple(p, "ProcessAlive", name, func() bool { return p.inner.ProcessAlive(name, processNames) })
}

// ListRunning returns a facet's method.
func (p *Faulty) ListRunning(prefix string) ([]string, error) {
	f := p.concerning("ListRunning", "")
	if f.Delay > 0 {
		if err := forEver(f.Delay); err != nil {
			return nil, err
		}
	}
	if f.Names == nil && f.Err != nil {
		return nil, &runtime.Error{Op: "ListRunning", Err: f.Err}
	}
	names, err := p.inner.ListRunning(prefix)
	if err != nil || f.Names == nil {
		return names, err
	}
	return f.Names(names), f.Err
}

// GetLastActivity returns a facet's method.
func (p *Faulty) GetLastActivity(name string) (time.Time, error) {
	return aroundValue(p, forEver, "GetLastActivity", name, func() (time.Time, error) { return p.inner.GetLastActivity(name) })
}

// Attach is a facet's method.
func (p *Faulty) Attach(name string) error {
	return p.around(forEver, "Attach", name, func() error { return p.inner.Attach(name) })
}

// Nudge is a facet's method.
func (p *Faulty) Nudge(name string, content []runtime.ContentBlock) error {
	return p.around(forEver, "Nudge", name, func() error { return p.inner.Nudge(name, content) })
}

// SendKeys is a facet's method.
func (p *Faulty) SendKeys(name string, keys ...string) error {
	return p.around(forEver, "SendKeys", name, func() error { return p.inner.SendKeys(name, keys...) })
}

// Peek returns a facet's method.
func (p *Faulty) Peek(name string, lines int) (string, error) {
	return aroundValue(p, forEver, "Peek", name, func() (string, error) { return p.inner.Peek(name, lines) })
}

// ClearScrollback is a facet's method.
func (p *Faulty) ClearScrollback(name string) error {
	return p.around(forEver, "ClearScrollback", name, func() error { return p.inner.ClearScrollback(name) })
}

// SetMeta is a facet's method.
func (p *Faulty) SetMeta(name, key, value string) error {
	return p.around(forEver, "SetMeta", name, func() error { return p.inner.SetMeta(name, key, value) })
}

// GetMeta returns a facet's method.
func (p *Faulty) GetMeta(name, key string) (string, error) {
	return aroundValue(p, forEver, "GetMeta", name, func() (string, error) { return p.inner.GetMeta(name, key) })
}

// RemoveMeta is a facet's method.
func (p *Faulty) RemoveMeta(name, key string) error {
	return p.around(forEver, "RemoveMeta", name, func() error { return p.inner.RemoveMeta(name, key) })
}

// CopyTo is a facet's method.
func (p *Faulty) CopyTo(name, src, relDst string) error {
	return p.around(forEver, "CopyTo", name, func() error { return p.inner.CopyTo(name, src, relDst) })
}

// RunLive is a facet's method.
func (p *Faulty) RunLive(name string, cfg runtime.Config) error {
	return p.around(forEver, "RunLive", name, func() error { return p.inner.RunLive(name, cfg) })
}

// Capabilities returns the inner provider's; they cannot fail.
func (p *Faulty) Capabilities() runtime.ProviderCapabilities { return p.inner.Capabilities() }
