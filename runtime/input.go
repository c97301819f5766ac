package runtime

// Input brings people and text to an agent.
type Input interface {
	// Attach connects the calling process's terminal to the named session and
	// blocks until the user detaches or the session ends. [ErrSessionNotFound]
	// if it is missing, [ErrAttachUnsupported] where there is no terminal.
	Attach(name string) error

	// Nudge delivers content as one prompt. It is [Deliver] for callers that
	// need no receipt: nil means that the text was handed to the agent, not that
	// the agent took it. The text arrives byte for byte or is refused before its
	// first byte: control characters that could become key events are an
	// error. A text that the agent CLI would run in a shell of its own ("!ls") is
	// refused, or arrives behind a blank or a space of no width, if that makes it a
	// prompt. Empty content is nil. A missing session is [ErrSessionNotFound].
	// Concurrent nudges of one session never interleave.
	Nudge(name string, content []ContentBlock) error

	// SendKeys sends key events by tmux name ("Enter", "Down", "C-c"; a single
	// character is itself) without adding Enter. An unknown key name is an error
	// and nothing is sent. A missing session, or a driver without a terminal, is
	// nil.
	SendKeys(name string, keys ...string) error
}
