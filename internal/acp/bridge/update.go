package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/acp"
	"gascity/runtime"
)

// Notification handles an update of the agent: it prints it, writes it into the record and reports it to the city. It implements
// acp.Handler.
func (h *host) Notification(method string, params json.RawMessage) {
	if method != acp.MethodUpdate {
		return // other notifications are ignored
	}
	var p acp.UpdateParams
	if err := json.Unmarshal(params, &p); err != nil {
		h.transcript.line("acp: cannot read an update: " + err.Error())
		return
	}
	u := p.Update
	h.recordProgress(u.Kind)
	if words, ok := turnUpdates[u.Kind]; ok {
		h.markAccepted(words)
	}
	switch u.Kind {
	case acp.UpdateAgentMessage, acp.UpdateAgentThought:
		h.streamed = u.Message
		h.transcript.chunk(u.Kind, u.Content.Text)
		h.inTurn(func() { h.record.chunk(recordKinds[u.Kind], u.Content.Text) })
	case acp.UpdateAgentWhole, acp.UpdateThoughtWhole:
		if u.Message != h.streamed { // else its chunks were already shown
			h.transcript.chunk(u.Kind, u.Content.Text)
			h.transcript.endLine()
			h.inTurn(func() { h.record.entry(recordKinds[u.Kind], u.Content.Text) })
		}
	case acp.UpdateUserMessage, acp.UpdateUserWhole:
		h.inserted()
	case acp.UpdateState:
		h.handleState(u.State)
	case acp.UpdateToolCall, acp.UpdateToolChange, acp.UpdateToolContent:
		h.showTool(u.Tool)
		h.inTurn(func() { h.record.tool(u.Tool) })
		h.used(u.Tool)
	case acp.UpdatePlan, acp.UpdateNamedPlan:
		var b strings.Builder
		for _, e := range u.Plan {
			b.WriteString("[plan " + e.Status + "] " + e.Content + "\n")
		}
		if b.Len() > 0 {
			h.transcript.line(b.String())
		}
		h.inTurn(func() { h.report.plan(u.Plan) })
	case acp.UpdateMode, acp.UpdateOptions:
		h.mu.Lock()
		h.recordMode(u.Mode)
		h.mu.Unlock()
	case acp.UpdateUsage:
		h.mu.Lock()
		h.usage, h.window = u.Raw, u.Window
		h.broadcastLocked()
		h.mu.Unlock()
	}
}

// recordProgress records when the agent last showed progress, if the kind of update means that.
func (h *host) recordProgress(kind string) {
	sign := turnUpdates[kind]
	if kind == acp.UpdateUsage {
		sign = "tokens"
	}
	if sign == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.progress = runtime.Progress{At: time.Now(), Sign: sign}
}

// inTurn calls do if a turn runs. Without a turn it does nothing: when an agent loads a conversation, it repeats old updates,
// which were reported before.
func (h *host) inTurn(do func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.turn != nil || h.working {
		do()
	}
}

// recordMode records the agent's mode and reports a change to the city. It ignores an empty mode. h.mu must be held.
func (h *host) recordMode(mode string) {
	if mode == "" || mode == h.mode {
		return
	}
	h.mode = mode
	h.report.mode(mode)
	h.broadcastLocked()
}

// recordKinds maps kinds of updates with text to the kinds of entries in the record of the conversation.
var recordKinds = map[string]string{
	acp.UpdateAgentMessage: client.EntryAnswer, acp.UpdateAgentThought: client.EntryThinking,
	acp.UpdateAgentWhole: client.EntryAnswer, acp.UpdateThoughtWhole: client.EntryThinking,
}

// turnUpdates maps the kinds of updates that an agent sends only while it works on a prompt to their names for people.
var turnUpdates = map[string]string{
	acp.UpdateUserMessage: "user message", acp.UpdateAgentMessage: "agent message", acp.UpdateAgentThought: "agent thought",
	acp.UpdateToolCall: "tool call", acp.UpdateToolChange: "tool call", acp.UpdatePlan: "plan",
	acp.UpdateUserWhole: "user message", acp.UpdateAgentWhole: "agent message", acp.UpdateThoughtWhole: "agent thought",
	acp.UpdateToolContent: "tool call", acp.UpdateNamedPlan: "plan",
}

// showTool prints an update of a tool call.
func (h *host) showTool(t acp.ToolCall) {
	var b strings.Builder
	if t.Title != "" {
		b.WriteString("[tool: " + t.Title + "]")
	} else if t.Status != "" && t.Status != "in_progress" {
		b.WriteString("[tool " + t.Status + "]")
	}
	for _, text := range t.Texts {
		b.WriteString("\n" + text)
	}
	if b.Len() > 0 {
		h.transcript.line(strings.TrimPrefix(b.String(), "\n"))
	}
}

// Stray prints a line that is no message of the protocol. It implements acp.Handler.
func (h *host) Stray(line string) {
	const most = 4096
	if len(line) > most {
		line = line[:most] + "..."
	}
	h.transcript.line(strings.ToValidUTF8(line, "?"))
}

// Request handles a request of the agent: for a permission, a file or a command. It implements acp.Handler.
func (h *host) Request(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if method != acp.MethodPermission && h.isDraft() {
		return nil, acp.MethodNotFound(method) // in the draft a client has no file and terminal methods
	}
	switch method {
	case acp.MethodPermission:
		return serve(params, func(p acp.PermissionParams) (any, error) { return h.ask(ctx, p) })
	case acp.MethodReadFile:
		return serveAuthorized(ctx, h, params, readCall, func(p acp.ReadFileParams) (any, error) { return h.tools.read(p) })
	case acp.MethodWriteFile:
		return serveAuthorized(ctx, h, params, writeCall, func(p acp.WriteFileParams) (any, error) { return struct{}{}, h.tools.write(p) })
	case acp.MethodTerminalCreate:
		return serveAuthorized(ctx, h, params, h.terminalCall, func(p acp.TerminalParams) (any, error) { return h.tools.create(p) })
	case acp.MethodTerminalOutput:
		return serve(params, func(p acp.TerminalRef) (any, error) { return h.tools.output(p) })
	case acp.MethodTerminalWait:
		return serve(params, func(p acp.TerminalRef) (any, error) { return h.tools.wait(ctx, p) })
	case acp.MethodTerminalKill:
		return serve(params, func(p acp.TerminalRef) (any, error) { return struct{}{}, h.tools.kill(p) })
	case acp.MethodTerminalRelease:
		return serve(params, func(p acp.TerminalRef) (any, error) { return struct{}{}, h.tools.release(p) })
	}
	return nil, acp.MethodNotFound(method)
}

// serve calls do with the parameters of a request. If they cannot be decoded, it returns an error for the agent.
func serve[P any](raw json.RawMessage, do func(P) (any, error)) (any, error) {
	var p P
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, acp.InvalidParams(err.Error())
	}
	return do(p)
}
