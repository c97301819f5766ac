// Package server offers one session of a city as an agent of the Agent Client Protocol, so that an editor can use it. It uses
// only the control API of the city: a prompt of the editor is a prompt with a receipt, like any other. The session continues
// when the editor disconnects.
package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"gascity/client"
	"gascity/internal/acp"
)

// Options are the options of [Serve]. All are required.
type Options struct {
	City    *client.Client
	Agent   string // name of the agent whose session is offered
	By      string // name of the person who prompts and answers, for display
	Version string // version of gc
	In      io.Reader
	Out     io.Writer
}

// Serve lets one editor use a session of the city as an agent. It returns nil when the editor closes the connection. If the city
// has no such agent, the error matches client.ErrNotFound, and nothing was written.
func Serve(ctx context.Context, opts Options) error {
	s, err := opts.City.Session(ctx, opts.Agent)
	if err != nil {
		return err
	}
	b := &bridge{Options: opts, id: s.Agent.Name, terminal: true}
	if known, err := opts.City.Providers(ctx); err == nil {
		b.terminal = usesTerminal(known, s.Provider)
	}
	b.conn = acp.NewConn(opts.In, opts.Out, b)
	return b.conn.Serve(ctx)
}

// usesTerminal reports whether a runtime provider runs its agents in terminals, in which the output is drawn again and again.
// place is the runtime provider; one that is not known counts as one with terminals.
func usesTerminal(known []client.Provider, place string) bool {
	name, _, _ := strings.Cut(place, ":")
	for _, p := range known {
		if p.Name == name {
			return strings.Contains(strings.Join(p.Capabilities, " "), "attach")
		}
	}
	return true
}

// bridge is the connection of one editor to one session of the city.
type bridge struct {
	Options
	conn     *acp.Conn
	id       string // ID of the offered session
	terminal bool

	mu   sync.Mutex
	turn *turn // nil if no prompt is in progress
}

// Stray ignores a line that is no message of the protocol. It implements acp.Handler.
func (b *bridge) Stray(string) {}

// Notification handles a notification of the editor: a cancel request cancels the turn; others are ignored. It implements
// acp.Handler.
func (b *bridge) Notification(method string, _ json.RawMessage) {
	if method != acp.MethodCancel {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.turn != nil {
		b.turn.cancel()
	}
}

// Request handles a request of the editor: to begin or load a session, or to send a prompt. It implements acp.Handler.
func (b *bridge) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var p struct {
		SessionID string            `json:"sessionId"`
		Prompt    []json.RawMessage `json:"prompt"`
	}
	if err := json.Unmarshal(params, &p); err != nil && len(params) > 0 {
		return nil, acp.InvalidParams(err.Error())
	}
	switch method {
	case acp.MethodInitialize:
		return b.about(), nil
	case acp.MethodAuthenticate:
		return struct{}{}, nil
	case acp.MethodNew:
		return map[string]any{"sessionId": b.id}, nil
	case acp.MethodLoad, acp.MethodResume, acp.MethodPrompt:
	default:
		return nil, acp.MethodNotFound(method)
	}
	if p.SessionID != b.id {
		return nil, &acp.Error{Code: acp.CodeResourceNotFound, Message: fmt.Sprintf("this connection has only the session %s and no session %q", b.id, p.SessionID)}
	}
	switch method {
	case acp.MethodPrompt:
		return b.prompt(ctx, textOf(p.Prompt))
	case acp.MethodLoad:
		return struct{}{}, b.replay(ctx)
	}
	return struct{}{}, nil
}

// about returns the answer to the editor's first request: the name and version of gc, and what it supports.
func (b *bridge) about() any {
	return map[string]any{
		"protocolVersion": acp.Version, "authMethods": []any{},
		"agentInfo": acp.Implementation{Name: "gc", Title: b.id + " of a city", Version: cmp.Or(b.Version, "unknown")},
		"agentCapabilities": map[string]any{
			"loadSession":         true,
			"promptCapabilities":  map[string]any{"embeddedContext": true},
			"sessionCapabilities": map[string]any{"resume": struct{}{}},
		},
	}
}

// replay sends the last output of the session to the editor, which has just loaded the session.
func (b *bridge) replay(ctx context.Context) error {
	lines, err := b.printed(ctx)
	if err == nil {
		err = b.sendText(strings.Join(lines, "\n"))
	}
	return err
}

// sendText sends a text to the editor as a message of the agent. It sends nothing if the text is empty.
func (b *bridge) sendText(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return b.conn.Notify(acp.MethodUpdate, map[string]any{"sessionId": b.id, "update": map[string]any{
		"sessionUpdate": acp.UpdateAgentMessage, "content": acp.TextBlock(text),
	}})
}

// textOf returns the text of a prompt. An embedded file becomes its text, and a link to a file becomes its URI.
func textOf(blocks []json.RawMessage) string {
	var parts []string
	for _, raw := range blocks {
		var block struct {
			acp.Block
			Resource struct {
				URI  string `json:"uri"`
				Text string `json:"text"`
			} `json:"resource"`
		}
		if json.Unmarshal(raw, &block) != nil {
			continue // an unknown kind of block
		}
		switch {
		case block.Text != "":
			parts = append(parts, block.Text)
		case block.Resource.Text != "":
			parts = append(parts, block.Resource.URI+":\n"+block.Resource.Text)
		case cmp.Or(block.URI, block.Resource.URI) != "":
			parts = append(parts, cmp.Or(block.URI, block.Resource.URI))
		}
	}
	return strings.Join(parts, "\n")
}
