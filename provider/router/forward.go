package router

import (
	"time"

	"gascity/runtime"
)

// call calls do with the provider that has the session, for the operation op.
func (p *Provider) call(op, name string, do func(runtime.Provider) error) error {
	b, err := p.at(op, name)
	if err != nil {
		return err
	}
	return b.wrap(do(b.Provider))
}

// callOr is call for an operation that returns a value.
func callOr[V any](p *Provider, op, name string, do func(runtime.Provider) (V, error)) (value V, err error) {
	err = p.call(op, name, func(at runtime.Provider) (err error) {
		value, err = do(at)
		return err
	})
	return value, err
}

// callIfThere is call for an operation that succeeds without a session. The router decides that, not the provider.
func (p *Provider) callIfThere(op, name string, do func(runtime.Provider) error) error {
	b, err := p.at(op, name)
	if runtime.IsSessionGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.wrap(do(b.Provider))
}

// Interrupt implements runtime.Runner.
func (p *Provider) Interrupt(name string) error {
	return p.callIfThere("interrupt", name, func(at runtime.Provider) error { return at.Interrupt(name) })
}

// GetLastActivity implements runtime.Inspector.
func (p *Provider) GetLastActivity(name string) (last time.Time, err error) {
	err = p.callIfThere("inspect", name, func(at runtime.Provider) (err error) {
		last, err = at.GetLastActivity(name)
		return err
	})
	return last, err
}

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	return p.call("attach to", name, func(at runtime.Provider) error { return at.Attach(name) })
}

// Nudge implements runtime.Input.
func (p *Provider) Nudge(name string, content []runtime.ContentBlock) error {
	if len(content) == 0 {
		return nil
	}
	return p.call("nudge", name, func(at runtime.Provider) error { return at.Nudge(name, content) })
}

// SendKeys implements runtime.Input.
func (p *Provider) SendKeys(name string, keys ...string) error {
	return p.callIfThere("send keys to", name, func(at runtime.Provider) error { return at.SendKeys(name, keys...) })
}

// Peek implements runtime.Output.
func (p *Provider) Peek(name string, lines int) (string, error) {
	return callOr(p, "peek at", name, func(at runtime.Provider) (string, error) { return at.Peek(name, lines) })
}

// ClearScrollback implements runtime.Output.
func (p *Provider) ClearScrollback(name string) error {
	return p.callIfThere("clear the scrollback of", name, func(at runtime.Provider) error { return at.ClearScrollback(name) })
}

// SetMeta implements runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	return p.call("set metadata of", name, func(at runtime.Provider) error { return at.SetMeta(name, key, value) })
}

// GetMeta implements runtime.MetaStore.
func (p *Provider) GetMeta(name, key string) (string, error) {
	return callOr(p, "read metadata of", name, func(at runtime.Provider) (string, error) { return at.GetMeta(name, key) })
}

// RemoveMeta implements runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error {
	return p.call("remove metadata of", name, func(at runtime.Provider) error { return at.RemoveMeta(name, key) })
}

// CopyTo implements runtime.Stager.
func (p *Provider) CopyTo(name, src, relDst string) error {
	return p.call("copy to", name, func(at runtime.Provider) error { return at.CopyTo(name, src, relDst) })
}

// RunLive implements runtime.Stager.
func (p *Provider) RunLive(name string, cfg runtime.Config) error {
	return p.call("apply session_live to", name, func(at runtime.Provider) error { return at.RunLive(name, cfg) })
}
