// Package acp is the driver for agents that speak the Agent Client Protocol (ACP). Each session
// runs in a shim on this machine. The shim runs an ACP host, and the host runs the agent and speaks
// ACP with it (ADR 0019, package bridge).
//
// The driver reads four variables of an agent's environment. GC_ACP_SESSION is the conversation to
// resume. GC_ACP_MODE is the agent's mode. GC_ACP_AUTH is the authentication method. GC_ACP_VERSION
// is the protocol version: 1, or 2 for the draft, if the agent supports it.
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
	"gascity/internal/agentcli/transcript"
	"gascity/internal/driver/shimdriver"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// Config configures the driver. Options and Host are required.
type Config struct {
	shimdriver.Options
	// Host is the command that runs an ACP host; the first prompt is appended to it.
	Host []string
	// HandshakeTimeout is the limit for the handshake with an agent, after which the agent accepts
	// prompts; zero means bridge.DefaultHandshake.
	HandshakeTimeout time.Duration
	// BusyTimeout is the longest time that a prompt waits for the turn before it; zero means
	// [DefaultBusy].
	BusyTimeout time.Duration
}

// DefaultBusy is the default of Config.BusyTimeout.
const DefaultBusy = time.Minute

// Provider runs agents that speak ACP. It is safe for concurrent use. Several Providers may use one
// directory, in one process or in many.
type Provider struct {
	*shimdriver.Sessions
	shimdriver.NoTerminal
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

// Open opens the sessions below cfg.Dir. It starts no process.
func Open(cfg Config) (*Provider, error) {
	if len(cfg.Host) == 0 {
		return nil, errors.New("the driver acp needs the command of its ACP host")
	}
	cfg.BusyTimeout = cmp.Or(cfg.BusyTimeout, DefaultBusy)
	cfg.HandshakeTimeout = cmp.Or(cfg.HandshakeTimeout, bridge.DefaultHandshake)
	if cfg.Profiles == nil {
		cfg.Profiles = agentcli.Builtin()
	}
	cfg.Profiles = cfg.Profiles.Screenless() // the output comes from the host, not from the agent
	sessions, err := shimdriver.OpenHosted(cfg.Options, &acpHost{cfg})
	if err != nil {
		return nil, err
	}
	return &Provider{sessions, shimdriver.NoTerminalOf(sessions)}, nil
}

// Transport is the name of the transport that an agent's configuration selects.
const Transport = "acp"

// SupportsTransport implements runtime.TransportCapabilityProvider.
func (p *Provider) SupportsTransport(transport string) bool {
	return transport == "" || transport == Transport
}

// acpHost implements shimdriver.Host: it sends prompts and answers to an agent through the
// session's ACP host.
type acpHost struct{ cfg Config }

var _ shimdriver.Host = (*acpHost)(nil)

// socketName is the name of the host's socket in the session's state directory.
const socketName = "acp"

func clientOf(l shimdriver.Live) bridge.Client {
	return bridge.Client{Socket: filepath.Join(l.Folder, socketName), Instance: l.Instance}
}

// startMargin is how much longer a start waits than the host does, so that the host can report why
// the handshake failed.
const startMargin = 2 * time.Second

// Prepare returns cfg with the agent's command replaced by the host's command. The host gets the
// agent's command in an environment variable and the first prompt as an argument. The start waits
// for the ready line that the host prints.
func (w *acpHost) Prepare(name, folder string, cfg runtime.Config) (runtime.Config, error) {
	spec := bridge.Spec{
		Command: cmp.Or(cfg.Command, `exec "${SHELL:-/bin/sh}"`), Socket: filepath.Join(folder, socketName), MCPServers: cfg.MCPServers, Handshake: w.cfg.HandshakeTimeout,
		Conversation: cfg.Env[runtime.VariableConversation], Mode: cfg.Env[runtime.VariableMode], Auth: cfg.Env["GC_ACP_AUTH"],
	}
	if w.cfg.LogDir != "" {
		spec.Record = filepath.Join(w.cfg.LogDir, name+transcript.RecordSuffix)
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
		return cfg, fmt.Errorf("cannot encode the configuration of the ACP host: %w", err)
	}
	managed := cfg.WantsManagedStart()
	env := maps.Clone(cfg.Env)
	if env == nil {
		env = map[string]string{}
	}
	env[bridge.SpecVariable] = string(raw)
	words := make([]string, 0, len(w.cfg.Host)+1)
	for _, word := range append(append([]string{}, w.cfg.Host...), "--") {
		words = append(words, textfmt.ShellWord(word))
	}
	cfg.Command, cfg.PromptFlag, cfg.Env = "exec "+strings.Join(words, " "), "", env
	cfg.ReadyPromptPrefix = ""
	if managed {
		cfg.ReadyPromptPrefix, cfg.AcceptStartupDialogs = bridge.ReadyPrefix, new(false)
		cfg.ReadyDelayMs = max(cfg.ReadyDelayMs, int((w.cfg.HandshakeTimeout + startMargin).Milliseconds()))
	}
	return cfg, nil
}

// Sense implements shimdriver.Host. If no host answers, because it is starting or stopping, the
// activity is unknown.
func (w *acpHost) Sense(ctx context.Context, l shimdriver.Live) (shimdriver.HostReport, error) {
	report := shimdriver.HostReport{Evidence: runtime.Evidence{Source: runtime.SourceACP, Activity: runtime.ActivityUnknown}}
	e := &report.Evidence
	state, err := clientOf(l).State(ctx, 0)
	switch {
	case errors.Is(err, bridge.ErrNoHost):
		e.Detail = err.Error()
		return report, nil
	case err != nil:
		return report, err
	}
	e.Activity, e.Since, e.Detail = state.Activity, state.Since, state.Detail
	report.Progress = state.Progress
	if report.Pending = state.Pending; state.Pending != nil {
		e.Kind = state.Pending.Kind
	}
	if state.Conversation != "" {
		report.Conversation = &runtime.Conversation{ID: state.Conversation, Dir: state.Dir, Mode: state.Mode}
	}
	return report, nil
}
