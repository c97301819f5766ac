// Package subprocess is the driver for agents without a terminal: child processes
// with pipes, hosted by the same shim as those of an embedded terminal. Output is
// captured for peek and logs; there is nothing to attach to.
//
// An agent takes prompts only if its configuration declares how it reads them
// from its standard input, by the environment variable GC_STDIN: "lines" (each
// prompt is one line, so a prompt must not have a newline) or "framed" (the
// prompt's length in bytes as a decimal number, a newline, then the prompt).
package subprocess

import (
	"gascity/internal/driver/shimdriver"
	"gascity/runtime"
)

// Config is what the driver needs, see [shimdriver.Options].
type Config = shimdriver.Options

// Provider runs agents as child processes. It is safe for concurrent use; several
// may be open over one folder, in one process or many.
type Provider struct {
	*shimdriver.Sessions
}

var (
	_ runtime.Provider                    = (*Provider)(nil)
	_ runtime.Observer                    = (*Provider)(nil)
	_ runtime.Watcher                     = (*Provider)(nil)
	_ runtime.Deliverer                   = (*Provider)(nil)
	_ runtime.Recoverer                   = (*Provider)(nil)
	_ runtime.Fencer                      = (*Provider)(nil)
	_ runtime.ProcessTableScanner         = (*Provider)(nil)
	_ runtime.TransportCapabilityProvider = (*Provider)(nil)
	_ runtime.Sensor                      = (*Provider)(nil)
	_ runtime.Withdrawer                  = (*Provider)(nil)
)

// Open opens the sessions below cfg.Dir. It starts nothing.
func Open(cfg Config) (*Provider, error) {
	sessions, err := shimdriver.OpenPipes(cfg, deliver, resolveDelivery)
	if err != nil {
		return nil, err
	}
	return &Provider{sessions}, nil
}

// Capabilities says that attaching is not supported.
func (p *Provider) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanReportActivity: true, CanStream: true}
}

// SupportsTransport keeps the contract of runtime.TransportCapabilityProvider:
// pipes are the only transport.
func (p *Provider) SupportsTransport(transport string) bool { return transport == "" }

// Attach returns an error matching [runtime.ErrAttachUnsupported], for a session
// that is missing [runtime.ErrSessionNotFound].
func (p *Provider) Attach(name string) error {
	if !p.IsRunning(name) {
		return &runtime.Error{Op: "attach to", Session: name, Err: runtime.ErrSessionNotFound}
	}
	return &runtime.Error{Op: "attach to", Session: name, Err: runtime.ErrAttachUnsupported}
}

// SendKeys does nothing: there is no terminal. Its success means that nothing was
// lost, see runtime.Input.
func (p *Provider) SendKeys(string, ...string) error { return nil }
