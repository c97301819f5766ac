package shim

import "gascity/internal/terminal/oscstate"

// What a program reports to its terminal about itself.
type (
	// Sign is one thing that a program reports to its terminal about itself.
	Sign = oscstate.Sign
	// Signs are what the program in the foreground says of itself beside what it prints.
	Signs = oscstate.Signs
)

// signsLocked returns what the agent says of itself now.
func (h *host) signsLocked() Signs {
	if h.exit != nil {
		return Signs{}
	}
	return h.signs.OfGroup(h.run.streams.Foreground())
}
