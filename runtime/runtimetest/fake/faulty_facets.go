package fake

import (
	"context"
	"time"

	"gascity/runtime"
)

// The interfaces of package runtime. Each call gets the fault that applies to it.

// Start implements runtime.Runner.
func (p *Faulty) Start(ctx context.Context, name string, cfg runtime.Config) error {
	return p.around(forCtx(ctx), "Start", name, func() error { return p.inner.Start(ctx, name, cfg) })
}

// Stop implements runtime.Runner.
func (p *Faulty) Stop(name string) error {
	return p.around(sleepFor, "Stop", name, func() error { return p.inner.Stop(name) })
}

// Interrupt implements runtime.Runner.
func (p *Faulty) Interrupt(name string) error {
	return p.around(sleepFor, "Interrupt", name, func() error { return p.inner.Interrupt(name) })
}

// IsRunning implements runtime.Inspector.
func (p *Faulty) IsRunning(name string) bool {
	return callSimple(p, "IsRunning", name, func() bool { return p.inner.IsRunning(name) })
}

// IsAttached implements runtime.Inspector.
func (p *Faulty) IsAttached(name string) bool {
	return callSimple(p, "IsAttached", name, func() bool { return p.inner.IsAttached(name) })
}

// ProcessAlive implements runtime.Inspector.
func (p *Faulty) ProcessAlive(name string, processNames []string) bool {
	return callSimple(p, "ProcessAlive", name, func() bool { return p.inner.ProcessAlive(name, processNames) })
}

// ListRunning implements runtime.Inspector.
func (p *Faulty) ListRunning(prefix string) ([]string, error) {
	f := p.faultFor("ListRunning", "")
	if f.Delay > 0 {
		if err := sleepFor(f.Delay); err != nil {
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

// GetLastActivity implements runtime.Inspector.
func (p *Faulty) GetLastActivity(name string) (time.Time, error) {
	return aroundValue(p, sleepFor, "GetLastActivity", name, func() (time.Time, error) { return p.inner.GetLastActivity(name) })
}

// Attach implements runtime.Input.
func (p *Faulty) Attach(name string) error {
	return p.around(sleepFor, "Attach", name, func() error { return p.inner.Attach(name) })
}

// Nudge implements runtime.Input.
func (p *Faulty) Nudge(name string, content []runtime.ContentBlock) error {
	return p.around(sleepFor, "Nudge", name, func() error { return p.inner.Nudge(name, content) })
}

// SendKeys implements runtime.Input.
func (p *Faulty) SendKeys(name string, keys ...string) error {
	return p.around(sleepFor, "SendKeys", name, func() error { return p.inner.SendKeys(name, keys...) })
}

// Peek implements runtime.Output.
func (p *Faulty) Peek(name string, lines int) (string, error) {
	return aroundValue(p, sleepFor, "Peek", name, func() (string, error) { return p.inner.Peek(name, lines) })
}

// ClearScrollback implements runtime.Output.
func (p *Faulty) ClearScrollback(name string) error {
	return p.around(sleepFor, "ClearScrollback", name, func() error { return p.inner.ClearScrollback(name) })
}

// SetMeta implements runtime.MetaStore.
func (p *Faulty) SetMeta(name, key, value string) error {
	return p.around(sleepFor, "SetMeta", name, func() error { return p.inner.SetMeta(name, key, value) })
}

// GetMeta implements runtime.MetaStore.
func (p *Faulty) GetMeta(name, key string) (string, error) {
	return aroundValue(p, sleepFor, "GetMeta", name, func() (string, error) { return p.inner.GetMeta(name, key) })
}

// RemoveMeta implements runtime.MetaStore.
func (p *Faulty) RemoveMeta(name, key string) error {
	return p.around(sleepFor, "RemoveMeta", name, func() error { return p.inner.RemoveMeta(name, key) })
}

// CopyTo implements runtime.Stager.
func (p *Faulty) CopyTo(name, src, relDst string) error {
	return p.around(sleepFor, "CopyTo", name, func() error { return p.inner.CopyTo(name, src, relDst) })
}

// RunLive implements runtime.Stager.
func (p *Faulty) RunLive(name string, cfg runtime.Config) error {
	return p.around(sleepFor, "RunLive", name, func() error { return p.inner.RunLive(name, cfg) })
}

// Capabilities returns the capabilities of the inner provider. Faults do not apply.
func (p *Faulty) Capabilities() runtime.ProviderCapabilities { return p.inner.Capabilities() }
