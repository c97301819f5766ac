package shimdriver

import "gascity/runtime"

// NoTerminal implements the part of the contract that is the same for all drivers whose agents have no terminal. Such a driver
// embeds it beside [Sessions].
type NoTerminal struct{ sessions *Sessions }

// NoTerminalOf returns the NoTerminal of a driver.
func NoTerminalOf(s *Sessions) NoTerminal { return NoTerminal{s} }

// Capabilities returns the driver's capabilities. Attaching is not one of them.
func (NoTerminal) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanReportActivity: true, CanStream: true}
}

// Attach returns an error: [runtime.ErrSessionNotFound] if the session does not exist, else [runtime.ErrAttachUnsupported].
func (n NoTerminal) Attach(name string) error {
	if !n.sessions.IsRunning(name) {
		return &runtime.Error{Op: "attach to", Session: name, Err: runtime.ErrSessionNotFound}
	}
	return &runtime.Error{Op: "attach to", Session: name, Err: runtime.ErrAttachUnsupported}
}

// SendKeys does nothing, because there is no terminal. It returns nil, because nothing is lost; see runtime.Input.
func (NoTerminal) SendKeys(string, ...string) error { return nil }
