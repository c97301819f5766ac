package fake

// SetMeta implements runtime.MetaStore.
func (f *Provider) SetMeta(name, key, value string) error {
	if err := f.called("SetMeta", name, key, value); err != nil {
		return err
	}
	if !f.world.with(name, func(s *session) { s.meta[key] = value }) {
		return notFound("set metadata of", name)
	}
	return nil
}

// GetMeta implements runtime.MetaStore.
func (f *Provider) GetMeta(name, key string) (string, error) {
	if err := f.called("GetMeta", name, key); err != nil {
		return "", err
	}
	var value string
	if !f.world.with(name, func(s *session) { value = s.meta[key] }) {
		return "", notFound("read metadata of", name)
	}
	return value, nil
}

// RemoveMeta implements runtime.MetaStore.
func (f *Provider) RemoveMeta(name, key string) error {
	if err := f.called("RemoveMeta", name, key); err != nil {
		return err
	}
	if !f.world.with(name, func(s *session) { delete(s.meta, key) }) {
		return notFound("remove metadata of", name)
	}
	return nil
}
