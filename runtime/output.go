package runtime

// Output reads and clears an agent's output.
type Output interface {
	// Peek returns the last lines lines of the named session's output, right
	// trimmed, joined by newlines, without trailing blank lines. lines <= 0
	// means all that is kept. It works on a session whose agent has exited, as
	// long as nothing replaced it. A missing session is [ErrSessionNotFound].
	Peek(name string, lines int) (string, error)

	// ClearScrollback deletes the scrollback above the visible screen. It is best effort: a missing
	// session is nil. Raw logs are kept.
	ClearScrollback(name string) error
}
