package shim

import "gascity/internal/terminal/vt"

// signsLocked returns what the agent currently reports; the zero value after it has exited.
func (h *host) signsLocked() vt.Signs {
	if h.exit != nil {
		return vt.Signs{}
	}
	return h.signs.OfGroup(h.run.streams.Foreground())
}
