package runtime

// ServerLifecycleProvider is the extension of drivers whose sessions share a
// server.
type ServerLifecycleProvider interface {
	// ConfigureServer applies server-wide settings. Idempotent; an error is a
	// warning to the caller.
	ConfigureServer() error
	// TeardownServer ends the server after all sessions are drained. One that is
	// gone is nil.
	TeardownServer() error
}

// ConfigureServer applies server-wide settings, nil without the extension.
func ConfigureServer(p Provider) error {
	if s, ok := As[ServerLifecycleProvider](p, ""); ok {
		return s.ConfigureServer()
	}
	return nil
}

// TeardownServer ends the shared server, nil without the extension.
func TeardownServer(p Provider) error {
	if s, ok := As[ServerLifecycleProvider](p, ""); ok {
		return s.TeardownServer()
	}
	return nil
}
