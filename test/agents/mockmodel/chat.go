package mockmodel

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

func parseChat(body []byte) (conversation, error) {
	var in struct {
		Model         string `json:"model"`
		Stream        bool   `json:"stream"`
		User          string `json:"user"`
		CacheKey      string `json:"prompt_cache_key"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Tools []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters struct {
					Properties map[string]json.RawMessage `json:"properties"`
				} `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role      string            `json:"role"`
			Content   json.RawMessage   `json:"content"`
			ToolCalls []json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return conversation{}, fmt.Errorf("chat: %w", err)
	}
	c := conversation{model: in.Model, stream: in.Stream, usage: in.StreamOptions.IncludeUsage, session: in.CacheKey}
	for _, t := range in.Tools {
		c.tools = append(c.tools, tool{t.Function.Name, t.Function.Parameters.Properties})
	}
	for _, m := range in.Messages {
		said := texts(parts(m.Content))
		switch m.Role {
		case "system", "developer":
			c.system += strings.Join(said, "\n")
		case "tool":
			c.messages = append(c.messages, message{results: []string{strings.Join(said, "\n")}})
		default:
			c.messages = append(c.messages, message{answer: m.Role == "assistant", texts: said, calls: len(m.ToolCalls)})
		}
	}
	return c, nil
}

func writeChat(out *stream, c conversation, said speech) {
	stop := "stop"
	calls := []object{}
	for i, call := range said.calls {
		stop = "tool_calls"
		calls = append(calls, object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": string(call.Arguments)}})
	}
	u := said.usage
	input := u.Input + u.CacheRead + u.CacheWrite
	usage := object{
		"prompt_tokens": input, "completion_tokens": u.Output, "total_tokens": input + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead},
	}
	head := func(kind string, choices []object) object {
		return object{"id": "chatcmpl-" + said.id, "object": kind, "created": time.Now().Unix(), "model": c.model, "choices": choices}
	}
	if !out.sse {
		m := object{"role": "assistant", "content": said.text}
		if len(calls) > 0 {
			m["tool_calls"] = calls
		}
		whole := head("chat.completion", []object{{"index": 0, "message": m, "finish_reason": stop}})
		whole["usage"] = usage
		out.document(said, whole)
		return
	}
	chunk := func(delta object, finish any) {
		out.event("", head("chat.completion.chunk", []object{{"index": 0, "delta": delta, "finish_reason": finish}}))
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if said.text != "" {
		out.writeText(said, func(piece string) { chunk(object{"content": piece}, nil) })
	}
	if len(calls) > 0 {
		chunk(object{"tool_calls": calls}, nil)
	}
	chunk(object{}, stop)
	if c.usage {
		last := head("chat.completion.chunk", []object{})
		last["usage"] = usage
		out.event("", last)
	}
	out.event("", "[DONE]")
}
