package shimdriver

// SetMeta implements runtime.MetaStore.
func (s *Sessions) SetMeta(name, key, value string) error {
	ctx, cancel := callContext()
	defer cancel()
	observed, err := s.live(ctx, "set metadata of", name)
	if err != nil {
		return err
	}
	return ErrorOf("set metadata of", name, observed.Client.SetMeta(ctx, key, value))
}

// GetMeta implements runtime.MetaStore.
func (s *Sessions) GetMeta(name, key string) (string, error) {
	ctx, cancel := callContext()
	defer cancel()
	observed, err := s.live(ctx, "read metadata of", name)
	if err != nil {
		return "", err
	}
	value, _, err := observed.Client.Meta(ctx, key)
	return value, ErrorOf("read metadata of", name, err)
}

// RemoveMeta implements runtime.MetaStore.
func (s *Sessions) RemoveMeta(name, key string) error {
	ctx, cancel := callContext()
	defer cancel()
	observed, err := s.live(ctx, "remove metadata of", name)
	if err != nil {
		return err
	}
	return ErrorOf("remove metadata of", name, observed.Client.RemoveMeta(ctx, key))
}
