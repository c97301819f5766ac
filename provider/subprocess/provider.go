// Package subprocess is the driver for agents without a terminal. Agents are child processes with
// pipes, in the same shim as the agents of package pty. The shim records the output for peek and
// logs. A person cannot attach.
//
// An agent accepts prompts only if its configuration declares how the agent reads them from its
// standard input, with the environment variable GC_STDIN: "lines" (each prompt is one line, so a
// prompt must not have a newline) or "framed" (the prompt's length in bytes as a decimal number, a
// newline, then the prompt).
package subprocess

import (
	"gascity/internal/driver/shimdriver"
	"gascity/runtime"
)

// Config configures the driver; see [shimdriver.Options].
type Config = shimdriver.Options

// Provider runs agents as child processes. It is safe for concurrent use. Several Providers may use
// one directory, in one process or in many.
type Provider struct {
	*shimdriver.Sessions
	shimdriver.NoTerminal
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

// Open opens the sessions below cfg.Dir. It starts no process.
func Open(cfg Config) (*Provider, error) {
	sessions, err := shimdriver.OpenPipes(cfg, deliver)
	if err != nil {
		return nil, err
	}
	return &Provider{sessions, shimdriver.NoTerminalOf(sessions)}, nil
}

// SupportsTransport implements runtime.TransportCapabilityProvider. Pipes, with the empty name, are
// the only transport.
func (p *Provider) SupportsTransport(transport string) bool { return transport == "" }
