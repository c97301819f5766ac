package runtime

// ServerLifecycleProvider is the extension of drivers whose sessions share a
// server.
type ServerLifecycleProvider interface {
	// ConfigureServer applies the settings of the server. It is idempotent. The caller must treat
	// an error as a warning.
	ConfigureServer() error
	// TeardownServer stops the server after all sessions are drained. It returns nil if the server
	// is gone.
	TeardownServer() error
}

// ConfigureServer applies the settings of the shared server. Without the extension it returns nil.
func ConfigureServer(p Provider) error {
	if s, ok := As[ServerLifecycleProvider](p, ""); ok {
		return s.ConfigureServer()
	}
	return nil
}

// TeardownServer stops the shared server. Without the extension it returns nil.
func TeardownServer(p Provider) error {
	if s, ok := As[ServerLifecycleProvider](p, ""); ok {
		return s.TeardownServer()
	}
	return nil
}
