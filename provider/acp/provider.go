// Package acp is the driver for agents that speak the Agent Client Protocol: sessions of
// this machine's shims, as those of child processes, with a host between shim and agent
// that holds the conversation (ADR 0019).
//
// Of an agent's environment four variables are read: GC_ACP_SESSION is the conversation to go
// on with, GC_ACP_MODE the mode to work in, GC_ACP_AUTH the method to sign in with, and
// GC_ACP_VERSION the version of the protocol: 1, or 2 for the draft with an agent that knows it.
package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"gascity/internal/acp/bridge"
	"gascity/internal/agentcli"
	"gascity/internal/driver/shimdriver"
	"gascity/runtime"
)

// Config is what the driver needs. Options and Host are required.
type Config struct {
	shimdriver.Options
	// Host is the command that runs a host; the first prompt is appended to it.
	Host []string
	// HandshakeTimeout bounds the time until an agent takes prompts; zero is
	// bridge.DefaultHandshake.
	HandshakeTimeout time.Duration
	// BusyTimeout is how long a prompt waits for the turn before it; zero is [DefaultBusy].
	BusyTimeout time.Duration
}

// DefaultBusy is how long a prompt waits for the turn before it.
const DefaultBusy = time.Minute

// Provider runs agents that speak the protocol. It is safe for concurrent use; several
// may be open over one folder, in one process or many.
type Provider struct {
	*shimdriver.Sessions
	host *acpHost
}

var (
	_ runtime.Provider                      = (*Provider)(nil)
	_ runtime.Observer                      = (*Provider)(nil)
	_ runtime.Watcher                       = (*Provider)(nil)
	_ runtime.Deliverer                     = (*Provider)(nil)
	_ runtime.Recoverer                     = (*Provider)(nil)
	_ runtime.Fencer                        = (*Provider)(nil)
	_ runtime.ProcessTableScanner           = (*Provider)(nil)
	_ runtime.TransportCapabilityProvider   = (*Provider)(nil)
	_ runtime.Sensor                        = (*Provider)(nil)
	_ runtime.Withdrawer                    = (*Provider)(nil)
	_ runtime.Settler                       = (*Provider)(nil)
	_ runtime.InteractionProvider           = (*Provider)(nil)
	_ runtime.IdleWaitProvider              = (*Provider)(nil)
	_ runtime.InterruptBoundaryWaitProvider = (*Provider)(nil)
)

// Open opens the sessions below cfg.Dir. It starts nothing.
func Open(cfg Config) (*Provider, error) {
	if len(cfg.Host) == 0 {
		return nil, errors.New("the driver needs the command of its host")
	}
	cfg.BusyTimeout = cmp.Or(cfg.BusyTimeout, DefaultBusy)
	cfg.HandshakeTimeout = cmp.Or(cfg.HandshakeTimeout, bridge.DefaultHandshake)
	if cfg.Profiles == nil {
		cfg.Profiles = agentcli.Builtin()
	}
	cfg.Profiles = cfg.Profiles.Screenless() // what is shown is the host's, not the agent's
	w := &acpHost{cfg}
	sessions, err := shimdriver.OpenHosted(cfg.Options, w)
	if err != nil {
		return nil, err
	}
	return &Provider{sessions, w}, nil
}

// Transport is the word by which an agent asks for this protocol.
const Transport = "acp"

// SupportsTransport keeps the contract of runtime.TransportCapabilityProvider.
func (p *Provider) SupportsTransport(transport string) bool {
	return transport == "" || transport == Transport
}

// Capabilities says that attaching is not supported.
func (p *Provider) Capabilities() runtime.ProviderCapabilities {
	return runtime.ProviderCapabilities{CanReportActivity: true, CanStream: true}
}

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

// acpHost is how prompts and questions reach the agent of a session: through its host.
type acpHost struct{ cfg Config }

var _ shimdriver.Host = (*acpHost)(nil)

// socketName is the host's socket in the session's folder.
const socketName = "acp"

func clientOf(l shimdriver.Live) bridge.Client {
	return bridge.Client{Socket: filepath.Join(l.Folder, socketName), Instance: l.Instance}
}

// startMargin is what a start waits longer than the host, so that the host reports
// why.
const startMargin = 2 * time.Second

// Prepare puts the host in the place of the agent. The first prompt stays where it is and
// becomes the host's argument; the line that shows that the agent is ready is the host's.
func (w *acpHost) Prepare(_, folder string, cfg runtime.Config) (runtime.Config, error) {
	spec := bridge.Spec{
		Command: cmp.Or(cfg.Command, `exec "${SHELL:-/bin/sh}"`), Socket: filepath.Join(folder, socketName), MCPServers: cfg.MCPServers, Handshake: w.cfg.HandshakeTimeout,
		Conversation: cfg.Env[runtime.VariableConversation], Mode: cfg.Env[runtime.VariableMode], Auth: cfg.Env["GC_ACP_AUTH"],
	}
	switch version := cfg.Env["GC_ACP_VERSION"]; version {
	case "", "1":
	case "2":
		spec.Draft = true
	default:
		return cfg, fmt.Errorf("GC_ACP_VERSION is %q: want 1, or 2 for the draft of version 2", version)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return cfg, fmt.Errorf("the configuration cannot be written: %w", err)
	}
	managed := cfg.WantsManagedStart()
	env := maps.Clone(cfg.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[bridge.SpecVariable] = string(raw)
	words := make([]string, 0, len(w.cfg.Host)+1)
	for _, word := range append(append([]string{}, w.cfg.Host...), "--") {
		words = append(words, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	cfg.Command, cfg.PromptFlag, cfg.Env = "exec "+strings.Join(words, " "), "", env
	cfg.ReadyPromptPrefix = ""
	off := false
	if managed {
		cfg.ReadyPromptPrefix, cfg.AcceptStartupDialogs = bridge.ReadyPrefix, &off
		cfg.ReadyDelayMs = max(cfg.ReadyDelayMs, int((w.cfg.HandshakeTimeout + startMargin).Milliseconds()))
	}
	return cfg, nil
}

// Sense implements shimdriver.Host. A host that has not come up yet, or is about to
// end, reports nothing.
func (w *acpHost) Sense(ctx context.Context, l shimdriver.Live) (shimdriver.HostReport, error) {
	said := shimdriver.HostReport{Evidence: runtime.Evidence{Source: runtime.SourceACP, Activity: runtime.ActivityUnknown}}
	e := &said.Evidence
	state, err := clientOf(l).State(ctx, 0)
	switch {
	case errors.Is(err, bridge.ErrNoHost):
		e.Detail = err.Error()
		return said, nil
	case err != nil:
		return said, err
	}
	e.Activity, e.Since, e.Detail = state.Activity, state.Since, state.Detail
	said.Progress = state.Progress
	if said.Pending = state.Pending; state.Pending != nil {
		e.Kind = state.Pending.Kind
	}
	if state.Conversation != "" {
		said.Conversation = &runtime.Conversation{ID: state.Conversation, Dir: state.Dir, Mode: state.Mode}
	}
	return said, nil
}
