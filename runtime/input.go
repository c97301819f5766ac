package runtime

// Input connects a person's terminal to an agent and sends text and keys to it.
type Input interface {
	// Attach connects the calling process's terminal to the named session and blocks until the user
	// detaches or the session stops. It returns [ErrSessionNotFound] if the session is missing, and
	// [ErrAttachUnsupported] if the session has no terminal.
	Attach(name string) error

	// Nudge delivers content as one prompt. It is [Deliver] for callers that need no receipt: nil
	// means that the text was passed to the agent, not that the agent accepted it. The text arrives
	// byte for byte, or is refused before its first byte: control characters that could become key
	// events are an error. A text that the agent CLI would run in its own shell ("!ls") is refused,
	// or arrives after a space or a zero-width space, if that makes it a prompt. Empty content is
	// nil. A missing session is [ErrSessionNotFound]. Concurrent nudges of one session never
	// interleave.
	Nudge(name string, content []ContentBlock) error

	// SendKeys sends key events by tmux name ("Enter", "Down", "C-c"; a single character stands for
	// itself) without adding Enter. An unknown key name is an error, and nothing is sent. A missing
	// session, or a driver without a terminal, is nil.
	SendKeys(name string, keys ...string) error
}
