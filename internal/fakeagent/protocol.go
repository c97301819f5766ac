package fakeagent

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"gascity/internal/fakeagent/ledger"
)

// faults are the values that --acp-fault accepts; doc.go describes them.
var faults = []string{
	"no-initialize", "auth", "odd-permission", "extra", "load-fails", "silent", "deaf", "internal-error", "partial", "long-line", "string-ids", "no-load",
}

// acpPeer is the peer for --acp: it uses the Agent Client Protocol. It shares no code with the product.
type acpPeer struct {
	noPeer

	out     io.Writer
	faults  []string
	session string
	signed  bool
	prompts []json.RawMessage // IDs of prompts that are not answered, the current one first
	asked   string            // ID of the open permission request
	count   int
}

func (s *acpPeer) has(fault string) bool { return slices.Contains(s.faults, fault) }

func (s *acpPeer) start()          {}
func (s *acpPeer) stop()           {}
func (s *acpPeer) draw(frame)      {}
func (s *acpPeer) resize(int, int) {}
func (s *acpPeer) print(text string) {
	s.update(map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": text + "\n"}})
}

// write writes one message. A closed pipe kills the process by SIGPIPE.
func (s *acpPeer) write(m map[string]any) {
	m["jsonrpc"] = "2.0"
	if s.has("extra") {
		m["unheardOf"] = map[string]any{"a": []int{1}}
	}
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	line = append(line, '\n')
	if !s.has("partial") {
		_, _ = s.out.Write(line)
		return
	}
	for piece := range slices.Chunk(line, 7) {
		_, _ = s.out.Write(piece)
	}
}

// update sends a session update; nothing before a session is open.
func (s *acpPeer) update(u map[string]any) {
	if s.session == "" {
		return
	}
	if s.has("extra") {
		s.write(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": s.session, "update": map[string]any{"sessionUpdate": "from_the_future", "content": 7}}})
	}
	s.write(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": s.session, "update": u}})
}

func (s *acpPeer) answer(id json.RawMessage, result any) {
	s.write(map[string]any{"id": id, "result": result})
}

func (s *acpPeer) fail(id json.RawMessage, code int, text string) {
	s.write(map[string]any{"id": id, "error": map[string]any{"code": code, "message": text}})
}

// handleMessage handles one message of the client.
func (s *acpPeer) handleMessage(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		s.a.ledger.write(s.a.ledger.text(ledger.Record{Kind: ledger.Discarded, Reason: err.Error()}, line))
		return
	}
	switch m.Method {
	case "initialize":
		if s.has("no-initialize") {
			return
		}
		methods := []any{}
		if s.has("auth") {
			methods = append(methods, map[string]any{"id": "key", "name": "A key"})
		}
		s.answer(m.ID, map[string]any{
			"protocolVersion": 1, "authMethods": methods, "agentInfo": map[string]any{"name": "fakeagent", "version": "1"},
			"agentCapabilities": map[string]any{"loadSession": !s.has("no-load")},
		})
	case "authenticate":
		s.signed = true
		s.answer(m.ID, map[string]any{})
	case "session/new", "session/load":
		s.open(m.ID, m.Method, m.Params)
	case "session/set_mode":
		s.setMode(m.ID, m.Params)
	case "session/prompt":
		s.prompt(m.ID, m.Params)
	case "session/cancel":
		if s.a.turn != nil && !s.has("deaf") {
			s.a.interrupt()
		}
	case "": // the answer to the last permission request
		s.permitted(strings.Trim(string(m.ID), `"`), m.Result)
	default:
		s.fail(m.ID, -32601, "Method not found")
	}
}

// open handles session/new and session/load.
func (s *acpPeer) open(id json.RawMessage, method string, params json.RawMessage) {
	var p struct {
		SessionID string `json:"sessionId"`
		Servers   []struct {
			Name string `json:"name"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Servers == nil {
		s.fail(id, -32602, "Invalid params: mcpServers")
		return
	}
	switch {
	case s.has("auth") && !s.signed:
		s.fail(id, -32000, "Authentication required")
		return
	case method == "session/load" && s.has("load-fails"):
		s.fail(id, -32002, "Resource not found: "+p.SessionID)
		return
	case method == "session/load" && s.a.m.conversations == "":
		s.session = p.SessionID
	default:
		s.session = "fake-" + strings.ToLower(rand.Text()[:8])
	}
	if s.a.m.conversations != "" && !s.useConversation(id, method, p.SessionID) {
		return
	}
	result := map[string]any{"modes": map[string]any{"currentModeId": "default", "availableModes": []any{
		map[string]any{"id": "default", "name": "Default"}, map[string]any{"id": "careful", "name": "Careful"},
	}}}
	if method == "session/new" {
		result["sessionId"] = s.session
	}
	s.answer(id, result)
	for _, server := range p.Servers {
		s.a.ledger.write(ledger.Record{Kind: ledger.Dialog, Dialog: "mcp server", Choice: server.Name})
	}
}

// useConversation resumes the stored conversation with this name for session/load, and begins a new one for other methods. If
// that fails, it answers the request with an error and returns false.
func (s *acpPeer) useConversation(id json.RawMessage, method, name string) bool {
	m := *s.a.m
	m.sessionID, m.resume = s.session, ""
	if method == "session/load" {
		m.resume = name
	}
	opened, err := openConversation(&m)
	switch {
	case err != nil && m.resume != "" && !strings.Contains(err.Error(), "in use"):
		s.fail(id, -32002, "Resource not found: "+name)
		return false
	case err != nil:
		s.fail(id, -32603, err.Error())
		return false
	}
	s.a.conversation, s.session = opened, opened.id
	s.a.ledger.write(ledger.Record{Kind: ledger.Dialog, Dialog: "conversation", Conversation: opened.id, Turns: opened.turns})
	return true
}

// setMode handles session/set_mode.
func (s *acpPeer) setMode(id, params json.RawMessage) {
	var p struct {
		ModeID string `json:"modeId"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.ModeID != "default" && p.ModeID != "careful" {
		s.fail(id, -32602, "Invalid params: modeId")
		return
	}
	s.a.ledger.write(ledger.Record{Kind: ledger.Dialog, Dialog: "mode", Choice: p.ModeID})
	s.answer(id, map[string]any{})
}

// prompt handles session/prompt.
func (s *acpPeer) prompt(id, params json.RawMessage) {
	var p struct {
		SessionID string `json:"sessionId"`
		Prompt    []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"prompt"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.SessionID != s.session {
		s.fail(id, -32602, "Invalid params")
		return
	}
	var text []string
	for _, b := range p.Prompt {
		text = append(text, b.Text)
	}
	if s.has("internal-error") {
		s.a.ledger.write(s.a.ledger.text(ledger.Record{Kind: ledger.Prompt, Source: "acp"}, []byte(strings.Join(text, ""))))
		s.fail(id, -32603, "Internal error")
		return
	}
	if s.has("long-line") {
		_, _ = s.out.Write([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"x":"`))
		block := bytes.Repeat([]byte("x"), 1<<20)
		for range 65 {
			_, _ = s.out.Write(block)
		}
		_, _ = s.out.Write([]byte("\"}}\n"))
	}
	s.prompts = append(s.prompts, id)
	s.a.submit([]byte(strings.Join(text, "")), "acp")
}

// begun sends the first update of the work on a prompt.
func (s *acpPeer) begun() {
	if !s.has("silent") {
		s.update(map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]any{"content": "answer", "priority": "medium", "status": "in_progress"}}})
	}
}

// ended sends the answer to the current prompt.
func (s *acpPeer) ended(reason string) {
	s.asked = ""
	if len(s.prompts) == 0 {
		return
	}
	id := s.prompts[0]
	s.prompts = s.prompts[1:]
	if s.has("silent") && reason == "end_turn" {
		return
	}
	s.update(map[string]any{"sessionUpdate": "usage_update", "used": 1000, "size": 200000})
	s.answer(id, map[string]any{"stopReason": reason, "usage": map[string]any{"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}})
}

// request sends a permission request.
func (s *acpPeer) request(m *menu) {
	s.count++
	var id any = s.count
	s.asked = string(mustJSON(id))
	if s.has("string-ids") {
		id = "ask-" + s.asked
		s.asked = "ask-" + s.asked
	}
	options := []any{}
	for i, name := range m.options {
		options = append(options, map[string]any{"optionId": "o" + string(mustJSON(i)), "name": name, "kind": kindOf(name)})
	}
	if s.has("odd-permission") {
		options = []any{
			7,
			map[string]any{"name": "nameless"},
			map[string]any{"optionId": "o0", "name": "Always", "kind": "allow_always"},
			map[string]any{"optionId": "o1", "name": "Odd", "kind": "allow_until_tomorrow"},
		}
	}
	s.write(map[string]any{"id": id, "method": "session/request_permission", "params": map[string]any{
		"sessionId": s.session, "options": options,
		"toolCall": map[string]any{"toolCallId": "t1", "title": m.name, "kind": "execute", "rawInput": map[string]any{"command": strings.Join(m.text, " ")}},
	}})
}

func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// kindOf returns the kind of a permission option with the given name.
func kindOf(name string) string {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, "no"), strings.HasPrefix(lower, "reject"), strings.HasPrefix(lower, "deny"):
		return "reject_once"
	case strings.Contains(lower, "always"):
		return "allow_always"
	}
	return "allow_once"
}

// permitted handles the answer to a permission request.
func (s *acpPeer) permitted(id string, result json.RawMessage) {
	var r struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	if s.a.ask == nil || id != s.asked || json.Unmarshal(result, &r) != nil {
		return
	}
	s.asked = ""
	choice := "(cancelled)"
	for i, name := range s.a.ask.options {
		if r.Outcome.Outcome == "selected" && r.Outcome.OptionID == "o"+string(mustJSON(i)) {
			choice = name
		}
	}
	s.a.choose(choice)
}
