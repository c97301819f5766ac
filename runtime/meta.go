package runtime

// MetaStore stores small key-value pairs with a session. They belong to one instance: they are
// deleted when it is stopped or replaced, and a later instance of the same name never sees them.
// Never store a secret here. Keys are 1 to 256 bytes without NUL, "/" or newline; values are any
// UTF-8 text up to 64 KiB.
type MetaStore interface {
	// SetMeta stores value under key and replaces an existing value. A missing session is
	// [ErrSessionNotFound].
	SetMeta(name, key, value string) error

	// GetMeta returns the value under key, or ("", nil) if the key is not set. A missing session is
	// [ErrSessionNotFound].
	GetMeta(name, key string) (string, error)

	// RemoveMeta removes the key. An unset key is nil. A missing session is [ErrSessionNotFound].
	RemoveMeta(name, key string) error
}
