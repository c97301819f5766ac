package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Version is the newest version of the wire.
const Version = 0

// Capability is a word of the handshake: what a script promises to implement.
type Capability string

// The capabilities. Others are ignored.
const (
	CapAttachment Capability = "report-attachment" // is-attached is meaningful
	CapActivity   Capability = "report-activity"   // get-last-activity is meaningful
	CapTerminal   Capability = "tty.attach"        // attach connects a real terminal
	CapExec       Capability = "proc.exec"         // exec runs command lines in the box
	CapProvision  Capability = "proc.provision"    // provision makes the box without an agent
	CapWatch      Capability = "watch"             // watch streams events
	CapRunLive    Capability = "run-live"          // run-live runs session_live again
	CapObserve    Capability = "observe"           // observe and observe-all
	CapScreen     Capability = "screen"            // screen prints the screen with styles and cursor
	CapFence      Capability = "fence"             // stop-instance and interrupt-instance
	CapDeliver    Capability = "deliver"           // deliver takes a prompt with its fence
	CapSettle     Capability = "settle"            // settle reports the outcome of a delivery
	// CapSequence: start returns when the whole start sequence is over: dialogs,
	// readiness and the first prompt are the script's, and so is the clean-up of a
	// start that fails.
	CapSequence Capability = "start.sequence"
)

// Handshake is the answer to the operation protocol.
type Handshake struct {
	Version      int          `json:"version"`
	Capabilities []Capability `json:"capabilities"`
}

// Has reports whether the script declares the capability.
func (h Handshake) Has(c Capability) bool { return slices.Contains(h.Capabilities, c) }

// ParseHandshake reads a handshake. Unknown words and fields are kept out of the way;
// an answer that is no object, a negative version or one above [Version] is an error.
func ParseHandshake(data []byte) (Handshake, error) {
	var raw struct {
		Version      *int     `json:"version"`
		Capabilities []string `json:"capabilities"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(data), &raw); err != nil {
		return Handshake{}, fmt.Errorf("the handshake is not {\"version\": 0, \"capabilities\": [...]}: %w", err)
	}
	h := Handshake{}
	if raw.Version != nil {
		h.Version = *raw.Version
	}
	if h.Version < 0 || h.Version > Version {
		return Handshake{}, fmt.Errorf("the handshake has version %d, known is %d", h.Version, Version)
	}
	for _, word := range raw.Capabilities {
		h.Capabilities = append(h.Capabilities, Capability(word))
	}
	return h, nil
}
