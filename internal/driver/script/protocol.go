package script

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Version is the newest version of the protocol.
const Version = 0

// Capability names a part of the protocol that a script declares in its handshake.
type Capability string

// The known capabilities. Other names are ignored.
const (
	CapAttachment Capability = "report-attachment" // the result of is-attached is meaningful
	CapActivity   Capability = "report-activity"   // the result of get-last-activity is meaningful
	CapTerminal   Capability = "tty.attach"        // attach connects a real terminal
	CapExec       Capability = "proc.exec"         // exec runs command lines in the session's environment
	CapProvision  Capability = "proc.provision"    // provision creates the session's environment without an agent
	CapWatch      Capability = "watch"             // watch streams events
	CapRunLive    Capability = "run-live"          // run-live runs session_live again
	CapObserve    Capability = "observe"           // observe and observe-all
	CapScreen     Capability = "screen"            // screen prints the screen with styles and cursor
	CapFence      Capability = "fence"             // stop-instance and interrupt-instance
	CapDeliver    Capability = "deliver"           // deliver checks the instance and delivers a prompt
	CapSettle     Capability = "settle"            // settle reports the outcome of a delivery
	// CapSequence means that start returns after the whole start sequence: the script handles dialogs, readiness and the first
	// prompt, and removes everything if the start fails.
	CapSequence Capability = "start.sequence"
)

// Handshake is the answer to the operation protocol.
type Handshake struct {
	Version      int          `json:"version"`
	Capabilities []Capability `json:"capabilities"`
}

// Has reports whether the script declares the capability.
func (h Handshake) Has(c Capability) bool { return slices.Contains(h.Capabilities, c) }

// ParseHandshake parses a handshake. It ignores unknown fields. Text that is not an object, and a version below zero or above
// [Version], are errors.
func ParseHandshake(data []byte) (Handshake, error) {
	var h Handshake
	if err := json.Unmarshal(data, &h); err != nil {
		return Handshake{}, fmt.Errorf("the handshake is not {\"version\": 0, \"capabilities\": [...]}: %w", err)
	}
	if h.Version < 0 || h.Version > Version {
		return Handshake{}, fmt.Errorf("the handshake has version %d, known is %d", h.Version, Version)
	}
	return h, nil
}
