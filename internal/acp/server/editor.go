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

// Serve serves one editor until it closes its side, and then returns nil. If the agent does not exist, the error matches
// client.ErrNotFound, and nothing is written.
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

// usesTerminal reports whether a runtime provider runs agents on terminals. The output of such agents is redrawn. An unknown
// provider counts as one with terminals.
func usesTerminal(known []client.Provider, place string) bool {
	name, _, _ := strings.Cut(place, ":")
	for _, p := range known {
		if p.Name == name {
			return strings.Contains(strings.Join(p.Capabilities, " "), "attach")
		}
	}
	return true
}

// bridge is the connection of one editor.
type bridge struct {
	Options
	conn     *acp.Conn
	id       string // ID of the offered session
	terminal bool

	mu   sync.Mutex
	turn *turn // nil if no prompt is in progress
}

// Stray implements acp.Handler. It ignores the line.
func (b *bridge) Stray(string) {}

// Notification implements acp.Handler.
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

// Request implements acp.Handler.
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
		return nil, &acp.Error{Code: acp.CodeResourceNotFound, Message: fmt.Sprintf("there is one session here, %s, and no %q", b.id, p.SessionID)}
	}
	switch method {
	case acp.MethodPrompt:
		return b.prompt(ctx, textOf(p.Prompt))
	case acp.MethodLoad:
		return struct{}{}, b.replay(ctx)
	}
	return struct{}{}, nil
}

// about returns the answer to the initialize request.
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

// replay sends the last output of the session to the editor.
func (b *bridge) replay(ctx context.Context) error {
	lines, err := b.printed(ctx)
	if err == nil {
		err = b.sendText(strings.Join(lines, "\n"))
	}
	return err
}

// sendText sends text of the agent to the editor.
func (b *bridge) sendText(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return b.conn.Notify(acp.MethodUpdate, map[string]any{"sessionId": b.id, "update": map[string]any{
		"sessionUpdate": acp.UpdateAgentMessage, "content": acp.TextBlock(text),
	}})
}

// textOf returns the text of a prompt. For an embedded file it contains the file's text, for a linked file its URI.
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
