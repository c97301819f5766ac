package acphost

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gascity/internal/acp"
	"gascity/runtime"
)

// handshake brings the agent to the point where it takes prompts.
func (h *host) handshake(ctx context.Context, version string) error {
	late := fmt.Errorf("it did not answer within %s (handshake_timeout)", h.spec.Handshake)
	ctx, cancel := context.WithTimeoutCause(ctx, h.spec.Handshake, late)
	defer cancel()
	var about acp.InitializeResult
	err := h.conn.Call(ctx, acp.MethodInitialize, acp.InitializeParams{
		ProtocolVersion: acp.Version,
		ClientInfo:      acp.Implementation{Name: "gc", Version: version},
		ClientCapabilities: acp.ClientCapabilities{
			FS: acp.FSCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true,
		},
	}, &about)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if about.ProtocolVersion != acp.Version {
		return fmt.Errorf("initialize: the agent speaks version %d of the protocol, gc version %d", about.ProtocolVersion, acp.Version)
	}
	opened, err := h.open(ctx, about)
	if acp.IsCode(err, acp.CodeAuthRequired) {
		if err = h.signIn(ctx, about, err); err == nil {
			opened, err = h.open(ctx, about)
		}
	}
	if err != nil {
		return err
	}
	if err := h.choose(ctx, opened); err != nil {
		return err
	}
	h.becomeReady(about, opened)
	return nil
}

// open opens the session: the conversation of the spec, or a new one.
func (h *host) open(ctx context.Context, about acp.InitializeResult) (acp.SessionResult, error) {
	params := acp.SessionParams{Cwd: h.dir, MCPServers: servers(h.spec.MCPServers)}
	method := acp.MethodNew
	if h.spec.Conversation != "" {
		params.SessionID = h.spec.Conversation
		switch {
		case about.AgentCapabilities.Resumes():
			method = acp.MethodResume
		case about.AgentCapabilities.LoadSession:
			method = acp.MethodLoad
		default:
			return acp.SessionResult{}, fmt.Errorf("the agent offers neither session/resume nor session/load: it cannot go on with a conversation, here %s", h.spec.Conversation)
		}
	}
	var opened acp.SessionResult
	err := h.conn.Call(ctx, method, params, &opened)
	switch {
	case acp.IsCode(err, acp.CodeResourceNotFound) && method != acp.MethodNew:
		return opened, fmt.Errorf("%s: the conversation %s was not found: %w", method, h.spec.Conversation, err)
	case err != nil:
		return opened, fmt.Errorf("%s: %w", method, err)
	}
	if h.spec.Conversation != "" {
		opened.SessionID = h.spec.Conversation
	}
	if opened.SessionID == "" {
		return opened, fmt.Errorf("%s: the agent gave no session id", method)
	}
	return opened, nil
}

// signIn answers an agent that wants to be signed in to, by the method of the spec.
func (h *host) signIn(ctx context.Context, about acp.InitializeResult, why error) error {
	var known []string
	for _, m := range about.AuthMethods {
		known = append(known, m.ID)
	}
	switch {
	case h.spec.Auth == "":
		return fmt.Errorf("%w; sign in with the agent's own tool, or set GC_ACP_AUTH in its env to one of: %s", why, strings.Join(known, ", "))
	case len(known) > 0 && !slices.Contains(known, h.spec.Auth):
		return fmt.Errorf("%w; it has no method %q to sign in with, but: %s", why, h.spec.Auth, strings.Join(known, ", "))
	}
	if err := h.conn.Call(ctx, acp.MethodAuthenticate, acp.AuthenticateParams{MethodID: h.spec.Auth}, nil); err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	return nil
}

// choose brings a new session into the mode of the spec.
func (h *host) choose(ctx context.Context, opened acp.SessionResult) error {
	if h.spec.Mode == "" || opened.Modes != nil && opened.Modes.Current == h.spec.Mode {
		return nil
	}
	err := h.conn.Call(ctx, acp.MethodSetMode, acp.SetModeParams{SessionID: opened.SessionID, ModeID: h.spec.Mode}, nil)
	if err != nil {
		return fmt.Errorf("the mode %q cannot be set: %w", h.spec.Mode, err)
	}
	opened.Modes = &acp.Modes{Current: h.spec.Mode}
	return nil
}

func (h *host) becomeReady(about acp.InitializeResult, opened acp.SessionResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conversation, h.name = opened.SessionID, "the agent"
	if about.AgentInfo != nil && about.AgentInfo.Name != "" {
		h.name = strings.TrimSpace(about.AgentInfo.Name + " " + about.AgentInfo.Version)
	}
	if opened.Modes != nil {
		h.mode = opened.Modes.Current
		for _, m := range opened.Modes.Available {
			h.modes = append(h.modes, m.ID)
		}
	}
	if h.spec.Mode != "" {
		h.mode = h.spec.Mode
	}
	if h.mode != "" {
		h.report.mode(h.mode)
	}
	if opened.Models != nil {
		h.model = opened.Models.Current
	}
	if about.AgentInfo != nil {
		h.ledger = newLedger(about.AgentInfo.Name, h.conversation, h.report.getenv)
	}
	h.page.line(ReadyPrefix + " to " + h.name + ", conversation " + h.conversation)
	h.ready, h.since = true, time.Now()
	h.tell()
	h.next()
}

// setMode changes the mode of the running session.
func (h *host) setMode(ctx context.Context, mode string) error {
	h.mu.Lock()
	ready, id := h.ready, h.conversation
	h.mu.Unlock()
	if !ready {
		return errors.New("the handshake is under way")
	}
	if err := h.conn.Call(ctx, acp.MethodSetMode, acp.SetModeParams{SessionID: id, ModeID: mode}, nil); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inMode(mode)
	return nil
}

// servers are the servers of a configuration on the wire, in the order of their names.
func servers(configured []runtime.MCPServerConfig) []acp.MCPServer {
	all := make([]acp.MCPServer, 0, len(configured))
	for _, c := range configured {
		s := acp.MCPServer{
			Name: c.Name, Command: c.Command, Args: append([]string{}, c.Args...), Env: variables(c.Env),
			URL: c.URL, Headers: variables(c.Headers),
		}
		if c.Transport != "stdio" {
			s.Type = c.Transport
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b acp.MCPServer) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func variables(m map[string]string) []acp.Variable {
	all := make([]acp.Variable, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, acp.Variable{Name: name, Value: m[name]})
	}
	return all
}
