package bridge

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

// handshake agrees with the agent on the version of the protocol and opens a session. After it, the agent accepts prompts.
// version is that of gc.
func (h *host) handshake(ctx context.Context, version string) error {
	late := fmt.Errorf("it did not answer within %s (handshake_timeout)", h.spec.Handshake)
	ctx, cancel := context.WithTimeoutCause(ctx, h.spec.Handshake, late)
	defer cancel()
	about, err := h.initialize(ctx, version)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
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
	if err := h.selectMode(ctx, opened); err != nil {
		return err
	}
	h.becomeReady(about, opened)
	return nil
}

// initialize agrees with the agent on the version of the protocol. It uses the draft of version 2 only if the spec allows that
// and the agent supports it.
func (h *host) initialize(ctx context.Context, version string) (about acp.InitializeResult, err error) {
	gc := acp.Implementation{Name: "gc", Version: version}
	params := acp.InitializeParams{
		ProtocolVersion: acp.Version, ClientInfo: gc,
		ClientCapabilities: acp.ClientCapabilities{
			FS: acp.FSCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true,
		},
	}
	if h.spec.Draft {
		params.ProtocolVersion, params.Info = acp.VersionDraft, &gc
	}
	if err := h.conn.Call(ctx, acp.MethodInitialize, params, &about); err != nil {
		return about, err
	}
	if v := about.ProtocolVersion; v != acp.Version && v != params.ProtocolVersion {
		return about, fmt.Errorf("the agent uses version %d of the protocol, gc version %d", v, params.ProtocolVersion)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draft = about.ProtocolVersion == acp.VersionDraft
	return about, nil
}

// open opens a session that continues the conversation of the spec, or begins a new one.
func (h *host) open(ctx context.Context, about acp.InitializeResult) (acp.SessionResult, error) {
	stdio := ""
	if h.isDraft() {
		stdio = acp.TypeStdio
	}
	params := acp.SessionParams{Cwd: h.dir, MCPServers: servers(h.spec.MCPServers, stdio)}
	method := acp.MethodNew
	if h.spec.Conversation != "" {
		params.SessionID = h.spec.Conversation
		switch {
		case h.isDraft(), about.AgentCapabilities.Resumes():
			method = acp.MethodResume
		case about.AgentCapabilities.LoadSession:
			method = acp.MethodLoad
		default:
			return acp.SessionResult{}, fmt.Errorf("the agent offers neither session/resume nor session/load: it cannot resume a conversation, here %s", h.spec.Conversation)
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
		return opened, fmt.Errorf("the answer of the agent to %s has no session ID", method)
	}
	return opened, nil
}

// signIn signs in to the agent with the method that the spec names. why is the error with which the agent asked for that.
func (h *host) signIn(ctx context.Context, about acp.InitializeResult, why error) error {
	var known []string
	for _, m := range about.AuthMethods {
		known = append(known, m.ID)
	}
	switch {
	case h.spec.Auth == "":
		return fmt.Errorf("%w; sign in with the agent's own tool, or set GC_ACP_AUTH in its env to one of: %s", why, strings.Join(known, ", "))
	case len(known) > 0 && !slices.Contains(known, h.spec.Auth):
		return fmt.Errorf("%w; the agent has no sign-in method %q; it has: %s", why, h.spec.Auth, strings.Join(known, ", "))
	}
	method := acp.MethodAuthenticate
	if h.isDraft() {
		method = acp.MethodLogin
	}
	if err := h.conn.Call(ctx, method, acp.AuthenticateParams{MethodID: h.spec.Auth}, nil); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// selectMode sets the mode that the spec names in a new session, unless the session has it already.
func (h *host) selectMode(ctx context.Context, opened acp.SessionResult) error {
	option, _ := opened.Options.Mode()
	h.mu.Lock()
	h.modeOption = option.ID
	h.mu.Unlock()
	if h.spec.Mode == "" || opened.Modes != nil && opened.Modes.Current == h.spec.Mode || h.isDraft() && option.Value == h.spec.Mode {
		return nil
	}
	if _, offered := modesOf(opened); len(offered) > 0 && !slices.Contains(offered, h.spec.Mode) {
		return fmt.Errorf("the agent has no mode %q; it has: %s", h.spec.Mode, strings.Join(offered, ", "))
	}
	if err := h.askMode(ctx, opened.SessionID, h.spec.Mode); err != nil {
		return fmt.Errorf("cannot set the mode %q: %w", h.spec.Mode, err)
	}
	return nil
}

// modesOf returns the mode of a session and the modes that the agent offers.
func modesOf(opened acp.SessionResult) (current string, offered []string) {
	if opened.Modes == nil {
		option, _ := opened.Options.Mode()
		return option.Value, option.Values
	}
	for _, m := range opened.Modes.Available {
		offered = append(offered, m.ID)
	}
	return opened.Modes.Current, offered
}

// askMode asks the agent to change its mode. In the draft of version 2 the mode is one of the options of the session.
func (h *host) askMode(ctx context.Context, conversation, mode string) error {
	h.mu.Lock()
	draft, option := h.draft, h.modeOption
	h.mu.Unlock()
	switch {
	case !draft:
		return h.conn.Call(ctx, acp.MethodSetMode, acp.SetModeParams{SessionID: conversation, ModeID: mode}, nil)
	case option == "":
		return errors.New("the agent has no modes")
	}
	return h.conn.Call(ctx, acp.MethodSetOption, acp.Selection(conversation, option, mode), nil)
}

// isDraft reports whether the draft of version 2 of the protocol is used.
func (h *host) isDraft() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draft
}

// becomeReady stores what the agent has said about itself and its session, prints the line that the agent is ready, and sends the
// first prompt of the queue.
func (h *host) becomeReady(about acp.InitializeResult, opened acp.SessionResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conversation, h.name = opened.SessionID, "the agent"
	info := about.About()
	if info != nil && info.Name != "" {
		h.name = strings.TrimSpace(info.Name + " " + info.Version)
	}
	h.mode, h.modes = modesOf(opened)
	if h.spec.Mode != "" {
		h.mode = h.spec.Mode
	}
	if h.mode != "" {
		h.report.mode(h.mode)
	}
	if opened.Models != nil {
		h.model = opened.Models.Current
	}
	if info != nil {
		h.agent = info.Name
		h.usageFile = newUsageFile(info.Name, h.conversation, h.report.getenv)
	}
	version := ""
	if h.draft {
		version = ", by the draft of version 2"
	}
	h.transcript.line(ReadyPrefix + " to " + h.name + ", conversation " + h.conversation + version)
	h.ready, h.since = true, time.Now()
	h.broadcastLocked()
	h.next()
}

// servers returns the configured MCP servers in the form of the protocol, sorted by name. stdio is the type for servers that the
// agent itself starts.
func servers(configured []runtime.MCPServerConfig, stdio string) []acp.MCPServer {
	all := make([]acp.MCPServer, 0, len(configured))
	for _, c := range configured {
		s := acp.MCPServer{
			Type: stdio, Name: c.Name, Command: c.Command, Args: append([]string{}, c.Args...), Env: variables(c.Env),
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

// variables returns the entries of a map in the form of the protocol, sorted by name.
func variables(m map[string]string) []acp.Variable {
	all := make([]acp.Variable, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, acp.Variable{Name: name, Value: m[name]})
	}
	return all
}
