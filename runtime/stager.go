package runtime

// Stager changes a running session's surroundings.
type Stager interface {
	// CopyTo copies src (a file or a folder on the caller's machine) to relDst
	// inside the session's working directory; an empty relDst is the folder itself.
	// Best effort: an unknown session or a missing src is nil. A relDst that
	// would leave the working directory, also through a symbolic link, is an error and
	// nothing is written.
	CopyTo(name, src, relDst string) error

	// RunLive runs cfg.SessionLive again for the running session. The commands
	// are idempotent by contract. One that fails is reported in the error after
	// all have run. A missing session is [ErrSessionNotFound].
	RunLive(name string, cfg Config) error
}
