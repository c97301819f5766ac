package runtime

// Stager changes the files and the live settings of a running session.
type Stager interface {
	// CopyTo copies src, a file or directory on the caller's machine, to relDst inside the
	// session's working directory. An empty relDst means the working directory itself. It is best
	// effort: an unknown session or a missing src is nil. A relDst outside the working directory,
	// also through a symbolic link, is an error and nothing is written.
	CopyTo(name, src, relDst string) error

	// RunLive runs cfg.SessionLive again for the running session. The commands must be idempotent.
	// RunLive runs all of them, and its error reports those that failed. A missing session is
	// [ErrSessionNotFound].
	RunLive(name string, cfg Config) error
}
