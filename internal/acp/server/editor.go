// Package server offers one session of a city as an agent of the Agent Client
// Protocol, so that an editor can drive it. It reaches the city by the control API
// alone: what the editor prompts is a prompt with a receipt, like any other, and the
// session lives on when the editor goes.
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

// Options are what [Serve] needs. All are required.
type Options struct {
	City    *client.Client
	Agent   string // whose session is offered
	By      string // who prompts and answers, for people
	Version string // of gc
	In      io.Reader
	Out     io.Writer
}

// Serve speaks with one editor until it ends its side, which is nil. An agent that
// there is not matches client.ErrNotFound, and not a word is said.
func Serve(ctx context.Context, opts Options) error {
	s, err := opts.City.Session(ctx, opts.Agent)
	if err != nil {
		return err
	}
	b := &bridge{Options: opts, id: s.Agent.Name, terminal: true}
	if known, err := opts.City.Providers(ctx); err == nil {
		b.terminal = drawn(known, s.Provider)
	}
	b.conn = acp.NewConn(opts.In, opts.Out, b)
	return b.conn.Serve(ctx)
}

// drawn reports whether a place shows agents on terminals: what they print is redrawn.
func drawn(known []client.Provider, place string) bool {
	name, _, _ := strings.Cut(place, ":")
	for _, p := range known {
		if p.Name == name {
			return strings.Contains(strings.Join(p.Capabilities, " "), "attach")
		}
	}
	return true
}

// bridge is one editor's connection.
type bridge struct {
	Options
	conn     *acp.Conn
	id       string // of the one session
	terminal bool

	mu   sync.Mutex
	turn *turn // nil between prompts
}

// Stray implements acp.Handler.
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

// replay shows an editor that comes to the session what it has printed last.
func (b *bridge) replay(ctx context.Context) error {
	lines, err := b.printed(ctx)
	if err == nil {
		err = b.sendText(strings.Join(lines, "\n"))
	}
	return err
}

// sendText sends the editor words of the agent.
func (b *bridge) sendText(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return b.conn.Notify(acp.MethodUpdate, map[string]any{"sessionId": b.id, "update": map[string]any{
		"sessionUpdate": acp.UpdateAgentMessage, "content": acp.TextBlock(text),
	}})
}

// textOf returns a prompt's text: of an embedded file its text, of one that is only named its name.
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
			continue // of a shape that this version does not know
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
