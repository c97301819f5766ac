package shim

import (
	"gascity/internal/terminal/vt"
)

// display stores what the agent printed: a screen model for a terminal, lines of text for a pipe. Its methods are called
// with the host's mu locked.
type display interface {
	Write(p []byte) (int, error)
	Lines(n int) []string // the last n lines, n <= 0 for all
	ClearScrollback()
	Size() (cols, rows int)
}

// newDisplay returns the display of a new session. reply gets the answers to terminal queries of the agent, and notice
// its reports such as titles; without a terminal neither is called.
func newDisplay(spec Spec, reply func([]byte), notice func(vt.Notice)) display {
	if !spec.Terminal {
		return newLineBuffer(spec.Scrollback)
	}
	return vt.New(spec.Cols, spec.Rows, &vt.Options{Scrollback: spec.Scrollback, Reply: reply, Notify: notice})
}
