package shim

import "gascity/internal/terminal/vt"

// State that a program reports to its terminal with escape sequences.
type (
	// Sign is one value that a program reports to its terminal.
	Sign = vt.Sign
	// Signs are the values that the program in the foreground reports to its terminal besides its output.
	Signs = vt.Signs
)

// signsLocked returns what the agent currently reports; the zero value after it has exited.
func (h *host) signsLocked() Signs {
	if h.exit != nil {
		return Signs{}
	}
	return h.signs.OfGroup(h.run.streams.Foreground())
}
