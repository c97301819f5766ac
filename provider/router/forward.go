package router

import "gascity/runtime"

// missingIsNil returns nil if err reports that the session does not exist, and err otherwise. It is
// for operations that succeed without a session.
func missingIsNil(err error) error {
	if runtime.IsSessionGone(err) {
		return nil
	}
	return err
}

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	b, err := p.at("attach to", name)
	if err != nil {
		return err
	}
	return b.wrap(b.Provider.Attach(name))
}

// Nudge implements runtime.Input.
func (p *Provider) Nudge(name string, content []runtime.ContentBlock) error {
	if len(content) == 0 {
		return nil
	}
	b, err := p.at("nudge", name)
	if err != nil {
		return err
	}
	return b.wrap(b.Provider.Nudge(name, content))
}

// SendKeys implements runtime.Input.
func (p *Provider) SendKeys(name string, keys ...string) error {
	b, err := p.at("send keys to", name)
	if err != nil {
		return missingIsNil(err)
	}
	return b.wrap(b.Provider.SendKeys(name, keys...))
}

// Peek implements runtime.Output.
func (p *Provider) Peek(name string, lines int) (string, error) {
	b, err := p.at("peek at", name)
	if err != nil {
		return "", err
	}
	text, err := b.Provider.Peek(name, lines)
	return text, b.wrap(err)
}

// ClearScrollback implements runtime.Output.
func (p *Provider) ClearScrollback(name string) error {
	b, err := p.at("clear the scrollback of", name)
	if err != nil {
		return missingIsNil(err)
	}
	return b.wrap(b.Provider.ClearScrollback(name))
}

// SetMeta implements runtime.MetaStore.
func (p *Provider) SetMeta(name, key, value string) error {
	b, err := p.at("set metadata of", name)
	if err != nil {
		return err
	}
	return b.wrap(b.Provider.SetMeta(name, key, value))
}

// GetMeta implements runtime.MetaStore.
func (p *Provider) GetMeta(name, key string) (string, error) {
	b, err := p.at("read metadata of", name)
	if err != nil {
		return "", err
	}
	value, err := b.Provider.GetMeta(name, key)
	return value, b.wrap(err)
}

// RemoveMeta implements runtime.MetaStore.
func (p *Provider) RemoveMeta(name, key string) error {
	b, err := p.at("remove metadata of", name)
	if err != nil {
		return err
	}
	return b.wrap(b.Provider.RemoveMeta(name, key))
}

// CopyTo implements runtime.Stager.
func (p *Provider) CopyTo(name, src, relDst string) error {
	b, err := p.at("copy to", name)
	if err != nil {
		return err
	}
	return b.wrap(b.Provider.CopyTo(name, src, relDst))
}

// RunLive implements runtime.Stager.
func (p *Provider) RunLive(name string, cfg runtime.Config) error {
	b, err := p.at("apply session_live to", name)
	if err != nil {
		return err
	}
	return b.wrap(b.Provider.RunLive(name, cfg))
}
