package runtime

// MetaStore keeps small key-value notes with a session. They belong to one
// instance: they are gone when it is stopped or replaced, and a successor of
// the same name never sees them. Never store a secret here. Keys are 1 to 256
// bytes without NUL, "/" or newline; values are any UTF-8 text up to 64 KiB.
type MetaStore interface {
	// SetMeta stores value under key, replacing what was there. A missing
	// session is [ErrSessionNotFound].
	SetMeta(name, key, value string) error

	// GetMeta returns the value under key, ("", nil) if the key is not set. A
	// missing session is [ErrSessionNotFound].
	GetMeta(name, key string) (string, error)

	// RemoveMeta removes the key; an unset key is nil. A missing session is
	// [ErrSessionNotFound].
	RemoveMeta(name, key string) error
}
